"""Any interleaving of what hub, workers, users, clocks and crashes do keeps three promises.

One cluster per timeout opens its gate, unreachable ones included. The work never runs twice, unless its worker was
given up for lost. Nothing is touched that is not ours. And when the world stands still, the daemon comes to rest.
"""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from config.api.identifiers import WorkerName
from config.api.meta import Condition
from gates.decision.decide import decide
from gates.model.actions import Decision, RemoveRemote
from gates.model.hub_workload import CheckState
from gates.model.settings import SECOND, Dispatcher, Settings, UngatedPolicy
from gates.model.view import Drift, GateSupport, JobSync, Reach, WorkerView, WorkloadView
from tests.property.watched_group import L, T, WatchedGroup
from tests.support.worker_names import W3
from tests.unit.gates.groups import NOW, hub

if TYPE_CHECKING:
    from gates.model.openings import Opening

NAMES = ("w1", "w2", "w3")
WORKERS = st.sampled_from(NAMES)
SETTINGS = Settings(timeout_ns=T, worker_lost_ns=L, round_ns=20 * SECOND, step_size=2)
POLICIES = {W3: UngatedPolicy.SEQUENTIAL}


class Orchestration(RuleBasedStateMachine):
    """The world around one hub Workload; `decide` plays itself."""

    @initialize(
        dispatcher=st.sampled_from([Dispatcher.ALL_AT_ONCE, Dispatcher.INCREMENTAL]),
        ungated=st.booleans(),
        counts=st.booleans(),
        ahead=st.integers(-5, 5),
    )
    def begin(self, dispatcher: Dispatcher, ahead: int, *, ungated: bool, counts: bool) -> None:
        """With `ungated` one worker knows no gates; with `counts` the hub's Kueue counts evictions."""
        self.settings = replace(SETTINGS, dispatcher=dispatcher)
        workers = [WorkerView(WorkerName(name), position) for position, name in enumerate(NAMES)]
        if ungated:
            workers[-1] = replace(workers[-1], gates=GateSupport.MISSING)
        self.state = WatchedGroup(WorkloadView(hub(), tuple(workers)), NOW)
        self.kueue_ahead = ahead * SECOND
        self.counts = counts

    def kueue_now(self) -> int:
        """Return what the clock of the hub's Kueue shows, in whole seconds as it writes it."""
        return (self.state.now + self.kueue_ahead) // SECOND * SECOND

    # --- the daemon

    def look(self) -> Decision:
        decision = decide(self.state.seen(), self.state.now, self.settings, POLICIES)
        for action in decision.actions:
            if isinstance(action, RemoveRemote):
                worker = self.state.workers[action.cluster]
                assert worker.removable, "there is nothing left to remove"
        return decision

    @rule(passes=st.integers(1, 4))
    def look_again_and_again(self, passes: int) -> None:
        for _ in range(passes):
            self.state.carry_out(self.look())

    @rule(name=WORKERS)
    def wins(self, name: str) -> None:
        """Let a worker admit, and everybody follow."""
        self.look_again_and_again(2)
        self.admits(name)
        self.look_again_and_again(3)

    @rule()
    def everybody_asks(self) -> None:
        self.look_again_and_again(2)
        for name in NAMES:
            self.asks(name, 0)
        self.look_again_and_again(2)

    @precondition(lambda self: self.state.openings)
    @rule()
    def whose_gate_was_opened_goes_away(self) -> None:
        self.goes_away(self.state.openings[-1].cluster, Reach.LOST)
        self.look_again_and_again(2)

    @rule(name=WORKERS)
    def loses_the_replica_and_the_hub_starts_over(self, name: str) -> None:
        """Leave the job behind, and give the daemon no time to look between two attempts."""
        self.loses_the_replica(name)
        self.look_again_and_again(1)
        if self.state.workload.check is not None and self.state.workload.check.state is CheckState.RETRY:
            self.hub_follows_a_retry()
            self.hub_takes_the_quota_back(again=True)

    @rule(first=WORKERS, second=WORKERS)
    def two_take_turns_out_of_sight(self, first: str, second: str) -> None:
        """Let one win while the other one is away and admits too, and then let them change places."""
        self.look_again_and_again(2)
        self.goes_away(second, Reach.LOST)
        self.wins(first)
        self.admits(second)
        self.goes_away(first, Reach.LOST)
        self.comes_back(second)
        self.look_again_and_again(2)

    @rule(cut_after=st.none() | st.integers(0, 5), failing=st.sets(WORKERS, max_size=1))
    def reconcile(self, cut_after: int | None, failing: set[str]) -> None:
        self.state.failing = failing
        self.state.carry_out(self.look(), cut_after)
        self.state.failing = set()

    @rule(another_machine=st.booleans())
    def restart(self, *, another_machine: bool) -> None:
        """Lose what the process remembers, but not at the very moment when the record is lost too."""
        if not self.state.seen().workload.lost_openings:
            self.state.restart(another_machine=another_machine)

    @rule(slow=st.booleans())
    def requests_become_slow_or_fast(self, *, slow: bool) -> None:
        self.state.slow = slow

    @rule()
    def what_is_on_its_way_arrives(self) -> None:
        self.state.arrive()

    @rule(seconds=st.integers(1, 40))
    def everybody_asks_and_nothing_arrives(self, seconds: int) -> None:
        self.state.slow = True
        self.everybody_asks()
        self.state.pass_time(seconds * SECOND)
        self.look_again_and_again(2)
        self.state.arrive()
        self.state.slow = False

    @rule(keep=st.integers(0, 2))
    def the_record_is_lost(self, keep: int) -> None:
        self.state.seen()
        self.state.workload = replace(self.state.workload, openings=self.state.workload.openings[:keep])

    @rule()
    def the_record_becomes_unreadable(self) -> None:
        self.state.seen()
        if self.state.workload.openings:
            self.state.workload = replace(self.state.workload, openings=(), openings_unreadable=True)

    @precondition(lambda self: all(w.reach is Reach.SYNCED for w in self.state.workers.values()))
    @rule()
    def settle(self) -> None:
        self.state.slow = False
        while self.state.flights:
            self.state.arrive()
        for _ in range(12):
            decision = self.look()
            if not decision.actions:
                return
            self.state.carry_out(decision)
        raise AssertionError(f"still acts: {decision}")

    # --- workers

    def is_true(self, name: str, condition: str) -> bool:
        replica = self.state.workers[WorkerName(name)].replica
        return replica is not None and replica.is_true(condition)

    def change(self, name: str, **fields: Any) -> None:
        self.state.workers[WorkerName(name)] = replace(self.state.workers[WorkerName(name)], **fields)

    @rule(name=WORKERS, ahead=st.integers(-60, 60))
    def asks(self, name: str, ahead: int) -> None:
        replica = self.state.workers[WorkerName(name)].replica
        if replica is not None and replica.signal_ns is None and not replica.is_true("QuotaReserved"):
            self.state.change(name, signal_ns=self.state.worker_now(name) + ahead * SECOND)

    @rule(name=WORKERS)
    def reverts_the_gate(self, name: str) -> None:
        replica = self.state.workers[WorkerName(name)].replica
        if replica is not None and replica.gate_open:
            self.state.reverted.add(replica.uid)
            self.state.change(name, gate_open=False, gate_opened_ns=None)

    @rule(name=WORKERS)
    def misses_the_opening(self, name: str) -> None:
        """Say that the gate is in the way, as Kueue does, whether or not it is."""
        message = "Workload requires preemption, but it's gated"
        self.state.conclude(name, "QuotaReserved", status="False", reason="Pending", message=message)

    @rule(name=WORKERS)
    def operator_opens(self, name: str) -> None:
        self.look_again_and_again(2)
        worker = self.state.workers[WorkerName(name)]
        # Nothing can call back what is on its way already when somebody opens a gate by hand.
        is_seen = worker.reach is Reach.SYNCED and worker.listed and not self.state.flights
        if is_seen and worker.replica is not None and not worker.replica.gate_open:
            self.state.change(name, gate_open=True, gate_opened_ns=self.state.now)
            self.state.opened_by_hand(name)
            self.state.carry_out(self.look())

    @rule(name=WORKERS)
    def reserves(self, name: str) -> None:
        self.state.conclude(name, "QuotaReserved")
        self.state.change(name, signal_ns=None)

    @rule(name=WORKERS)
    def admits(self, name: str) -> None:
        if not self.is_true(name, "Finished"):
            self.state.conclude(name, "QuotaReserved", "Admitted")
            self.state.conclude(name, "Evicted", status="False")
            self.state.change(name, signal_ns=None)

    @rule(name=WORKERS)
    def evicts(self, name: str) -> None:
        replica = self.state.workers[WorkerName(name)].replica
        if replica is not None and not replica.is_true("Finished"):
            self.state.reverted.discard(replica.uid)
            self.state.conclude(name, "QuotaReserved", "Admitted", status="False")
            self.state.conclude(name, "Evicted")
            self.state.change(name, signal_ns=None, gate_open=False, gate_opened_ns=None)
            self.change(name, opening_confirmed=False)

    @rule(name=WORKERS, reason=st.sampled_from(["Succeeded", "OutOfSync"]))
    def finishes(self, name: str, reason: str) -> None:
        if self.is_true(name, "Admitted") and self.state.workers[WorkerName(name)].job_present:
            self.state.conclude(name, "Finished", reason=reason)

    @rule(name=WORKERS)
    def job_moves_on(self, name: str) -> None:
        if self.state.workers[WorkerName(name)].job_present:
            self.change(name, job_sync=JobSync.COPY_STATUS)

    @rule(name=WORKERS, reach=st.sampled_from([Reach.LOST, Reach.UNREADABLE]))
    def goes_away(self, name: str, reach: Reach) -> None:
        if self.state.workers[WorkerName(name)].reach is Reach.SYNCED:
            self.change(name, reach=reach)
            self.state.away_since[name] = self.state.passed

    @rule(name=WORKERS)
    def comes_back(self, name: str) -> None:
        self.change(name, reach=Reach.SYNCED)
        self.state.away_since.pop(name, None)

    @rule(name=WORKERS)
    def loses_the_replica(self, name: str) -> None:
        self.change(name, replica=None)

    @rule(name=WORKERS)
    def terminates_slowly(self, name: str) -> None:
        self.state.terminating_slowly.add(name)

    @rule(name=WORKERS)
    def lets_go(self, name: str) -> None:
        self.state.let_go(name)

    @rule(name=WORKERS)
    def loses_and_terminates_slowly(self, name: str) -> None:
        """Let one run, have it evicted, and begin again while its job is still being deleted."""
        self.terminates_slowly(name)
        self.wins(name)
        workload = self.state.workload
        if workload.is_true("QuotaReserved") and not workload.is_true("Evicted") and not workload.is_true("Finished"):
            self.hub_evicts()
            self.hub_takes_the_quota_back(again=False)
            self.look_again_and_again(2)
            self.hub_takes_the_quota_back(again=True)
            self.look_again_and_again(2)

    @rule(name=WORKERS)
    def drifts(self, name: str) -> None:
        self.state.change(name, drift=Drift.OTHER)

    @rule(name=WORKERS, priority=st.booleans())
    def foreign_workload_comes_or_goes(self, name: str, *, priority: bool) -> None:
        if name in self.state.foreign_workloads:
            self.state.foreign_workloads.discard(name)
            self.change(name, foreign_replica=False)
        elif self.state.workers[WorkerName(name)].replica is None:
            self.state.foreign_workloads.add(name)
        elif priority:
            self.state.change(name, drift=Drift.PRIORITY)

    # --- hub and time

    @rule(seconds=st.integers(1, 70))
    def time_passes(self, seconds: int) -> None:
        self.state.pass_time(seconds * SECOND)

    @rule(seconds=st.integers(-200, 4000))
    def the_clock_is_set(self, seconds: int) -> None:
        """Set the wall clock of the hub's machines, forward or back; the workers have theirs."""
        self.state.now += seconds * SECOND
        for name, worker in self.state.workers.items():
            self.change(name, clock_skew_ns=worker.clock_skew_ns - seconds * SECOND)

    @rule(ahead=st.integers(-5, 5))
    def kueue_gets_another_clock(self, ahead: int) -> None:
        self.kueue_ahead = ahead * SECOND

    @rule(position=st.none() | st.integers(0, 2), name=WORKERS)
    def config_changes(self, name: str, position: int | None) -> None:
        self.change(name, position=position)
        if position is None:
            self.state.unlisted_since.setdefault(name, self.state.passed)
        else:
            self.state.unlisted_since.pop(name, None)

    @precondition(lambda self: self.state.workload.is_true("QuotaReserved"))
    @rule()
    def hub_evicts(self) -> None:
        if not self.state.workload.is_true("Evicted") and not self.state.workload.is_true("Finished"):
            self.state.evict_on_hub(counted=self.counts)
            self.state.attempt += 1

    @precondition(lambda self: self.state.workload.is_true("Evicted"))
    @rule(again=st.booleans())
    def hub_takes_the_quota_back(self, *, again: bool) -> None:
        self.state.conclude_on_hub(without=("QuotaReserved",))
        if again:
            evicted = Condition("Evicted", "False", "QuotaReserved", "", self.kueue_now())
            self.state.conclude_on_hub(evicted, Condition("QuotaReserved", "True", "", "", self.kueue_now()))

    @precondition(lambda self: self.state.workload.check.state is CheckState.RETRY)
    @rule()
    def hub_follows_a_retry(self) -> None:
        self.state.evict_on_hub(counted=self.counts)

    @rule(really=st.integers(0, 30))
    def user_deletes(self, really: int) -> None:
        if really == 30:
            self.state.workload = replace(self.state.workload, deleted=True)

    # --- promises that can be read at any time

    @invariant()
    def foreign_objects_stand(self) -> None:
        assert all(self.state.workers[WorkerName(name)].replica is None for name in self.state.foreign_workloads)

    @invariant()
    def the_record_stays_small(self) -> None:
        openings: tuple[Opening, ...] = self.state.workload.openings
        assert len({o.cluster for o in openings}) == len(openings) <= len(NAMES) + 1


TestOrchestration = Orchestration.TestCase
TestOrchestration.settings = hypothesis_settings(max_examples=200, stateful_step_count=50)
