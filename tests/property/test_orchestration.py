"""Any interleaving of what hub, workers, users, clocks and crashes do keeps three promises.

One cluster per timeout opens its gate, unreachable ones included. The work never runs twice, unless its worker was
given up for lost. Nothing is touched that is not ours. And when the world stands still, the daemon comes to rest.
"""

from dataclasses import replace
from typing import Any

from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from config.api.meta import Condition
from gates.actions import Decision, PatchHubStatus, RemoveRemote
from gates.decide import decide
from gates.settings import SECOND, Dispatcher, Settings
from gates.view import CheckState, Drift, Group, JobSync, Opening, Reach, Worker
from tests.simulated_group import Opened, SimulatedGroup
from tests.unit.gates.groups import NOW, hub

NAMES = ("w1", "w2", "w3")
T = 30 * SECOND
L = 60 * SECOND
WORKERS = st.sampled_from(NAMES)
SETTINGS = Settings(timeout_ns=T, worker_lost_ns=L, round_ns=20 * SECOND, step_size=2)


class WatchedGroup(SimulatedGroup):
    """Checks the promises at the moment when they could be broken."""

    def __init__(self, group: Group, now_ns: int) -> None:
        super().__init__(group, now_ns)
        self.passed = 0
        """Time that really passed, whatever the hub's clock shows."""
        self.attempt = 0
        self.job_attempts: dict[str, int] = {}
        self.opened_at: dict[int, int] = {}
        self.opened_in: dict[int, int] = {}
        """The attempt of each opening: times alone do not tell what came first within one moment."""
        self.ended: set[str] = set()

    def _open(self, worker: Worker, opened_ns: int) -> None:
        for earlier in () if worker.opening_confirmed else self.openings:  # what was reverted is only written again
            if earlier.cluster != worker.name and not self._is_over(earlier):
                waited = self.passed - self.opened_at[id(earlier)]
                assert waited >= T, f"{worker.name} opens {waited / SECOND} s after {earlier.cluster}"
        known = len(self.openings)
        super()._open(worker, opened_ns)
        for new in self.openings[known:]:
            self._note(new)

    def note_opening(self, name: str) -> None:
        """Take note of a gate that somebody else opened."""
        replica = self.workers[name].replica
        assert replica is not None
        new = Opened(name, replica.uid, self.now)
        self.openings.append(new)
        self._note(new)

    def _note(self, new: Opened) -> None:
        self.opened_at[id(new)] = self.passed
        self.opened_in[id(new)] = self.attempt

    def _is_over(self, opened: Opened) -> bool:
        """An opening ends with the eviction of its replica, or with the replica when the hub begins anew."""
        if opened.uid in self.ended:
            return True
        replica = self.workers[opened.cluster].replica
        is_gone = replica is None or replica.uid != opened.uid
        return is_gone and (self.workload.attempt_ns > opened.at or self.attempt > self.opened_in[id(opened)])

    def _sync(self, worker: Worker) -> None:
        if self.job_sync(worker) is JobSync.CREATE:
            for other in self.workers.values():
                assert other.name == worker.name or not other.job_present or self._is_given_up(other), (
                    f"a job begins on {worker.name} while one runs on {other.name}"
                )
            self.job_attempts[worker.name] = self.attempt
        super()._sync(worker)

    def _is_given_up(self, worker: Worker) -> bool:
        if worker.reach is Reach.SYNCED:
            return False
        since = worker.lost_since_ns if worker.lost_since_ns is not None else self.now
        return self.job_attempts.get(worker.name) != self.attempt or self.now - since >= L or not worker.listed

    def _patch(self, patch: PatchHubStatus) -> None:
        super()._patch(patch)
        if patch.check_state is CheckState.RETRY:
            self.attempt += 1


class Orchestration(RuleBasedStateMachine):
    """The world around one hub Workload; `decide` plays itself."""

    @initialize(dispatcher=st.sampled_from([Dispatcher.ALL_AT_ONCE, Dispatcher.INCREMENTAL]))
    def begin(self, dispatcher: Dispatcher) -> None:
        self.settings = replace(SETTINGS, dispatcher=dispatcher)
        workers = tuple(Worker(name, position) for position, name in enumerate(NAMES))
        self.state = WatchedGroup(Group(hub(), workers), NOW)

    # --- the daemon

    def look(self) -> Decision:
        decision = decide(self.state.seen(), self.state.now, self.settings, {})
        for action in decision.actions:
            if isinstance(action, RemoveRemote):
                worker = self.state.workers[action.cluster]
                assert worker.replica is not None or worker.job_present, "nothing of ours is there"
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
    def loses_the_replica_and_the_hub_begins_anew(self, name: str) -> None:
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

    @rule()
    def restart(self) -> None:
        for name, worker in self.state.workers.items():
            self.state.workers[name] = replace(worker, opening_confirmed=False, problem="", foreign_replica=False)

    @precondition(lambda self: all(w.reach is Reach.SYNCED for w in self.state.workers.values()))
    @rule()
    def settle(self) -> None:
        for _ in range(12):
            decision = self.look()
            if not decision.actions:
                return
            self.state.carry_out(decision)
        raise AssertionError(f"still acts: {decision}")

    # --- workers

    def is_true(self, name: str, condition: str) -> bool:
        replica = self.state.workers[name].replica
        return replica is not None and replica.is_true(condition)

    def change(self, name: str, **fields: Any) -> None:
        self.state.workers[name] = replace(self.state.workers[name], **fields)

    @rule(name=WORKERS, ahead=st.integers(-60, 60))
    def asks(self, name: str, ahead: int) -> None:
        replica = self.state.workers[name].replica
        if replica is not None and replica.signal_ns is None and not replica.is_true("QuotaReserved"):
            self.state.change(name, signal_ns=self.state.worker_now(name) + ahead * SECOND)

    @rule(name=WORKERS)
    def reverts_the_gate(self, name: str) -> None:
        self.state.change(name, gate_open=False, gate_opened_ns=None)

    @rule(name=WORKERS)
    def operator_opens(self, name: str) -> None:
        self.look_again_and_again(2)
        worker = self.state.workers[name]
        is_seen = worker.reach is Reach.SYNCED and worker.listed
        if is_seen and worker.replica is not None and not worker.replica.gate_open:
            self.state.change(name, gate_open=True, gate_opened_ns=self.state.now)
            self.state.note_opening(name)
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
        replica = self.state.workers[name].replica
        if replica is not None and not replica.is_true("Finished"):
            self.state.ended.add(replica.uid)
            self.state.conclude(name, "QuotaReserved", "Admitted", status="False")
            self.state.conclude(name, "Evicted")
            self.state.change(name, signal_ns=None, gate_open=False, gate_opened_ns=None)
            self.change(name, opening_confirmed=False)

    @rule(name=WORKERS, reason=st.sampled_from(["Succeeded", "OutOfSync"]))
    def finishes(self, name: str, reason: str) -> None:
        if self.is_true(name, "Admitted") and self.state.workers[name].job_present:
            self.state.conclude(name, "Finished", reason=reason)

    @rule(name=WORKERS)
    def job_moves_on(self, name: str) -> None:
        if self.state.workers[name].job_present:
            self.change(name, job_sync=JobSync.COPY_STATUS)

    @rule(name=WORKERS, reach=st.sampled_from([Reach.LOST, Reach.UNREADABLE]))
    def goes_away(self, name: str, reach: Reach) -> None:
        if self.state.workers[name].reach is Reach.SYNCED:
            self.change(name, reach=reach, lost_since_ns=self.state.now if reach is Reach.LOST else None)

    @rule(name=WORKERS)
    def comes_back(self, name: str) -> None:
        self.change(name, reach=Reach.SYNCED, lost_since_ns=None)

    @rule(name=WORKERS)
    def loses_the_replica(self, name: str) -> None:
        self.change(name, replica=None)

    @rule(name=WORKERS)
    def drifts(self, name: str) -> None:
        self.state.change(name, drift=Drift.OTHER)

    @rule(name=WORKERS, priority=st.booleans())
    def foreign_workload_comes_or_goes(self, name: str, *, priority: bool) -> None:
        if name in self.state.foreign_workloads:
            self.state.foreign_workloads.discard(name)
            self.change(name, foreign_replica=False)
        elif self.state.workers[name].replica is None:
            self.state.foreign_workloads.add(name)
        elif priority:
            self.state.change(name, drift=Drift.PRIORITY)

    # --- hub and time

    @rule(seconds=st.integers(1, 70))
    def time_passes(self, seconds: int) -> None:
        self.state.passed += seconds * SECOND
        self.state.now += seconds * SECOND

    @rule(seconds=st.integers(1, 200))
    def hub_clock_is_set_back(self, seconds: int) -> None:
        self.state.now -= seconds * SECOND
        for name, worker in self.state.workers.items():
            since = worker.lost_since_ns
            self.change(name, clock_skew_ns=worker.clock_skew_ns + seconds * SECOND, lost_since_ns=since)

    @rule(position=st.none() | st.integers(0, 2), name=WORKERS)
    def config_changes(self, name: str, position: int | None) -> None:
        self.change(name, position=position)

    @precondition(lambda self: self.state.workload.is_true("QuotaReserved"))
    @rule()
    def hub_evicts(self) -> None:
        if not self.state.workload.is_true("Evicted") and not self.state.workload.is_true("Finished"):
            self.state.evict_on_hub()
            self.state.attempt += 1

    @precondition(lambda self: self.state.workload.is_true("Evicted"))
    @rule(again=st.booleans())
    def hub_takes_the_quota_back(self, *, again: bool) -> None:
        self.state.conclude_on_hub(without=("QuotaReserved",))
        if again:
            evicted = Condition("Evicted", "False", "QuotaReserved", "", self.state.now)
            self.state.conclude_on_hub(evicted, Condition("QuotaReserved", "True", "", "", self.state.now))

    @precondition(lambda self: self.state.workload.check.state is CheckState.RETRY)
    @rule()
    def hub_follows_a_retry(self) -> None:
        self.state.evict_on_hub()

    @rule(really=st.integers(0, 30))
    def user_deletes(self, really: int) -> None:
        if really == 30:
            self.state.workload = replace(self.state.workload, deleted=True)

    # --- promises that can be read at any time

    @invariant()
    def foreign_objects_stand(self) -> None:
        assert all(self.state.workers[name].replica is None for name in self.state.foreign_workloads)

    @invariant()
    def the_record_stays_small(self) -> None:
        openings: tuple[Opening, ...] = self.state.workload.openings
        assert len({o.cluster for o in openings}) == len(openings) <= len(NAMES)


TestOrchestration = Orchestration.TestCase
TestOrchestration.settings = hypothesis_settings(max_examples=200, stateful_step_count=50)
