"""Whichever workers ignore gates, and whenever a Kueue is restarted with them off or on: two never preempt at once.

Whether a worker ignores gates is known to the simulated Kueues alone; the code learns it from what they write.
"""

from dataclasses import replace
from itertools import pairwise

from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from config.api.identifiers import WorkerName
from gates.assembly.gate_support import GRACE_NS, HANDLED_GRACE_NS
from gates.decision.decide import decide
from gates.decision.gate_evidence import FRESH_NS, NO_EVIDENCE, Findings, Moment, ReplicaEvidence, weighed
from gates.model.settings import SECOND, Settings, UngatedPolicy
from gates.model.view import GateSupport, Reach, Replica, WorkerView, WorkloadView
from tests.support.simulated_group import SimulatedGroup
from tests.support.worker_names import W1, W2, W3
from tests.unit.gates.groups import NOW, hub

NAMES = (W1, W2, W3)
WORKERS = st.sampled_from(NAMES)
T = 60 * SECOND
SETTINGS = Settings(timeout_ns=T)


class SimulatedKueue:
    """What one worker's Kueue is and did; times are true ones."""

    def __init__(self, *, ignores: bool) -> None:
        self.ignores = ignores
        self.is_down_until = 0
        self.known = Findings()
        self.uid = ""
        """The replica that it looks at."""
        self.made_at = 0
        self.shown_at: int | None = None
        self.handled_at: int | None = None
        self.is_exempt = False
        """The replica was there when the Kueue was restarted with gates off, so that nothing can hold it back."""


class IgnoredGates(RuleBasedStateMachine):
    """One Workload that needs to preempt on every worker."""

    @initialize(ignoring=st.sets(WORKERS), excluding=st.booleans())
    def begin(self, ignoring: set[WorkerName], *, excluding: bool) -> None:
        policy = UngatedPolicy.EXCLUDE if excluding else UngatedPolicy.SEQUENTIAL
        self.policies = dict.fromkeys(NAMES, policy)
        workers = tuple(WorkerView(name, position) for position, name in enumerate(NAMES))
        self.world = SimulatedGroup(WorkloadView(hub(), workers), NOW, measured=True)
        self.kueues = {name: SimulatedKueue(ignores=name in ignoring) for name in NAMES}
        self.preempted: dict[str, tuple[WorkerName, int]] = {}
        """The worker of each replica that preempted, and since when it could."""

    def moment(self) -> Moment:
        return Moment(NOW + self.world.passed, self.world.passed)

    def follow(self) -> None:
        """Let each Kueue forget what it did with a replica that is gone."""
        for name, kueue in self.kueues.items():
            replica = self.world.workers[name].replica
            uid = replica.uid if replica is not None else ""
            if uid != kueue.uid:
                kueue.uid, kueue.made_at, kueue.is_exempt = uid, self.world.passed, False
                kueue.shown_at = kueue.handled_at = None

    def evidence(self, kueue: SimulatedKueue, replica: Replica | None) -> ReplicaEvidence:
        if replica is None or not replica.has_gate:
            return NO_EVIDENCE
        if kueue.shown_at is not None:
            return ReplicaEvidence(GateSupport.HONOURED, NOW + kueue.shown_at)
        made, passed = NOW + kueue.made_at, self.world.passed
        if kueue.handled_at is not None and passed - kueue.handled_at > HANDLED_GRACE_NS:
            return ReplicaEvidence(GateSupport.MISSING, made)
        if passed - kueue.made_at > GRACE_NS:
            return ReplicaEvidence(GateSupport.MISSING, made, is_silence=True)
        return ReplicaEvidence(GateSupport.UNKNOWN, made, is_silence=True)

    def seen(self, worker: WorkerView) -> WorkerView:
        """Add what the code may know of a worker's gates."""
        kueue, moment = self.kueues[worker.name], self.moment()
        evidence = self.evidence(kueue, worker.replica)
        if worker.reach is Reach.SYNCED:
            kueue.known = weighed(kueue.known, evidence, moment, "ns/wl")
        replica = worker.replica
        if replica is not None:
            replica = replace(replica, gate_shown=kueue.shown_at is not None)
        return replace(worker, replica=replica, gates=kueue.known.about("ns/wl", moment.worker_ns, evidence))

    @rule(passes=st.integers(1, 4))
    def decides(self, passes: int) -> None:
        for _ in range(passes):
            self.follow()
            view = self.world.seen()
            view = replace(view, workers=tuple(self.seen(worker) for worker in view.workers))
            self.world.carry_out(decide(view, self.world.now, SETTINGS, self.policies))
            self.follow()

    @rule(seconds=st.sampled_from([1, 3, 6, 40, 61, 200]))
    def time_passes(self, seconds: int) -> None:
        """Let the daemon look every second at first, as its timers do."""
        for step in (1,) * min(seconds, 7) + (max(seconds - 7, 0),):
            self.world.passed += step * SECOND
            self.world.now += step * SECOND
            self.decides(2)

    @rule(name=WORKERS)
    def another_workload_shows_its_gate(self, name: WorkerName) -> None:
        kueue, moment = self.kueues[name], self.moment()
        if not kueue.ignores and self.world.passed >= kueue.is_down_until:
            kueue.known = weighed(kueue.known, ReplicaEvidence(GateSupport.HONOURED, moment.worker_ns), moment, "ns/b")

    @rule(name=WORKERS)
    def kueue_acts(self, name: WorkerName) -> None:
        """Let a Kueue look at its replica: show the gate, ask for it, or preempt."""
        self.follow()
        kueue, replica = self.kueues[name], self.world.workers[name].replica
        if replica is None or self.world.passed < kueue.is_down_until:
            return
        kueue.handled_at = kueue.handled_at or self.world.passed
        if kueue.ignores or replica.gate_open or not replica.has_gate:
            if not kueue.is_exempt:
                self.preempted[replica.uid] = (name, self.able_since(name, replica))
            return
        if kueue.shown_at is None:
            kueue.shown_at = self.world.passed
        elif replica.signal_ns is None:
            self.world.change(name, signal_ns=self.world.now)

    def able_since(self, name: WorkerName, replica: Replica) -> int:
        opened = [each.at for each in self.world.openings if each.uid == replica.uid]
        return self.kueues[name].made_at if self.kueues[name].ignores else max(opened, default=0)

    @rule(name=WORKERS)
    def kueue_is_restarted_with_the_other_setting(self, name: WorkerName) -> None:
        self.follow()
        kueue = self.kueues[name]
        kueue.ignores = not kueue.ignores
        kueue.is_down_until = self.world.passed + FRESH_NS + SECOND
        kueue.is_exempt = kueue.is_exempt or (kueue.ignores and bool(kueue.uid))

    @rule(name=WORKERS)
    def worker_is_lost_or_found(self, name: WorkerName) -> None:
        worker = self.world.workers[name]
        reach = Reach.LOST if worker.reach is Reach.SYNCED else Reach.SYNCED
        self.world.workers[name] = replace(worker, reach=reach)

    @rule()
    def daemon_is_restarted(self) -> None:
        self.world.memory = type(self.world.memory)()
        for kueue in self.kueues.values():
            kueue.known = Findings()

    @invariant()
    def no_two_workers_could_preempt_within_the_timeout(self) -> None:
        starts = sorted((since, name) for name, since in getattr(self, "preempted", {}).values())
        for (earlier, one), (later, other) in pairwise(starts):
            assert one == other or later - earlier >= T, f"{one} and {other}, {(later - earlier) / SECOND} s apart"


TestIgnoredGates = IgnoredGates.TestCase
TestIgnoredGates.settings = hypothesis_settings(max_examples=300, stateful_step_count=40, deadline=None)
