"""Any interleaving of signals, partitions, restarts, reverted writes and time keeps one cluster per timeout.

So under every policy, with forecasts of every kind, right or wrong, that come, change and go.
The machine plays hub and workers; `decide` plays itself. A pass may be cut off after any of its actions, as a
kill would do. A restart loses what the process remembers; the hub object and the workers' objects stay.
"""

from dataclasses import replace
from itertools import pairwise

from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from engine.forecasting.forecast import Cost, Forecast, Verdict
from gates.actions import (
    Action,
    CreateReplica,
    Decision,
    EmitEvent,
    OpenGate,
    PatchHubStatus,
    RecordForecast,
    RecordOpenings,
    StartRound,
)
from gates.decide import decide
from gates.forecasts import Witness
from gates.ledger import last_opening
from gates.opening import Open, candidates, next_gate, remaining_window
from gates.settings import SECOND, Dispatcher, GatePolicy, Settings
from gates.view import Group, Reach, Replica, Worker
from tests.unit.gates.groups import NOW, hub

NAMES = ("w1", "w2", "w3")
TIMEOUT = 30 * SECOND
POLICIES = st.builds(
    Settings,
    timeout_ns=st.just(TIMEOUT),
    policy=st.sampled_from(GatePolicy),
    skip_futile=st.booleans(),
    grace_ns=st.sampled_from([SECOND, 10 * SECOND, TIMEOUT]),
    dispatcher=st.sampled_from([Dispatcher.ALL_AT_ONCE, Dispatcher.FORECAST_FIRST]),
)
FORECASTS = st.none() | st.builds(
    Forecast, st.sampled_from(Verdict), st.just(NOW), cost=st.builds(Cost, victims=st.integers(0, 3))
)
WORKERS = st.sampled_from(NAMES)


class OneClusterPerTimeout(RuleBasedStateMachine):
    """The world around one hub Workload."""

    @initialize(settings=POLICIES)
    def begin(self, settings: Settings) -> None:
        self.settings = settings
        self.now = NOW
        self.workload = hub()
        self.workers = {name: Worker(name, position) for position, name in enumerate(NAMES)}
        self.arrivals: list[tuple[str, int]] = []
        self.versions = 0

    def group(self) -> Group:
        """Show the hub what it can read: an unreachable worker's replica is out of sight."""
        seen = (w if w.reach is Reach.SYNCED else replace(w, replica=None) for w in self.workers.values())
        return Group(self.workload, tuple(seen))

    def change(self, name: str, **fields: object) -> None:
        worker = self.workers[name]
        if worker.replica is not None:
            self.versions += 1
            replica = replace(worker.replica, resource_version=str(self.versions), **fields)  # type: ignore[arg-type]
            self.workers[name] = replace(worker, replica=replica)

    def apply(self, action: Action) -> None:
        match action:
            case RecordOpenings(openings=openings):
                self.workload = replace(self.workload, openings=openings)
                if action.forecast is not None:
                    self.workload = replace(self.workload, forecast=action.forecast)
            case RecordForecast(record=record):
                self.workload = replace(self.workload, forecast=record)
            case StartRound(started_ns=started):
                self.workload = replace(self.workload, round_started_ns=started)
            case EmitEvent():
                pass
            case CreateReplica(cluster=cluster):
                self.versions += 1
                made = Replica(f"{cluster}-{self.versions}", str(self.versions), {}, has_gate=True)
                self.workers[cluster] = replace(self.workers[cluster], replica=made, opening_confirmed=False)
            case OpenGate(cluster=cluster, resource_version=version, opened_ns=opened):
                replica = self.workers[cluster].replica
                if replica is not None and replica.resource_version == version:
                    self.change(cluster, gate_open=True, gate_opened_ns=opened)
                    if not self.workers[cluster].opening_confirmed:
                        self.arrivals.append((cluster, self.now))
                    self.workers[cluster] = replace(self.workers[cluster], opening_confirmed=True)
            case PatchHubStatus(nominated=nominated, check_message=message):
                if nominated is not None:
                    self.workload = replace(self.workload, nominated=nominated)
                if message is not None and self.workload.check is not None:
                    self.workload = replace(self.workload, check=replace(self.workload.check, message=message))
            case _:
                raise AssertionError(action)

    def run_pass(self) -> Decision:
        return decide(self.group(), self.now, self.settings, {})

    @rule(cut_after=st.integers(0, 5))
    def reconcile(self, cut_after: int) -> None:
        for action in self.run_pass().actions[:cut_after]:
            self.apply(action)

    @rule(name=WORKERS, ahead=st.integers(-60, 60))
    def signal(self, name: str, ahead: int) -> None:
        replica = self.workers[name].replica
        if replica is not None and replica.signal_ns is None:
            self.change(name, signal_ns=self.now + ahead * SECOND)

    @rule(name=WORKERS, forecast=FORECASTS, reliable=st.booleans(), witnessed=st.booleans())
    def forecast(self, name: str, forecast: Forecast | None, *, reliable: bool, witnessed: bool) -> None:
        witness = Witness() if witnessed else None
        worker = self.workers[name]
        self.workers[name] = replace(worker, forecast=forecast, forecast_reliable=reliable, witness=witness)

    @rule(name=WORKERS)
    def revert_open_gate(self, name: str) -> None:
        self.change(name, gate_open=False, gate_opened_ns=None)

    @rule(name=WORKERS)
    def lose(self, name: str) -> None:
        self.workers[name] = replace(self.workers[name], reach=Reach.LOST, lost_since_ns=self.now)

    @rule(name=WORKERS)
    def find_again(self, name: str) -> None:
        self.workers[name] = replace(self.workers[name], reach=Reach.SYNCED, lost_since_ns=None)

    @rule(name=WORKERS)
    def replica_vanishes(self, name: str) -> None:
        self.workers[name] = replace(self.workers[name], replica=None)

    @rule(seconds=st.integers(1, 40))
    def time_passes(self, seconds: int) -> None:
        self.now += seconds * SECOND

    @rule()
    def restart(self) -> None:
        for name, worker in self.workers.items():
            self.workers[name] = replace(worker, opening_confirmed=False)

    @invariant()
    def other_clusters_wait_for_the_timeout(self) -> None:
        for (first, first_ns), (second, second_ns) in pairwise(self.arrivals):
            assert first == second or second_ns - first_ns >= TIMEOUT

    @rule()
    def nobody_waits_for_a_policy_beyond_the_timeout(self) -> None:
        state = self.group()
        last = last_opening(state)
        asking = candidates(state, self.now)
        waited = [self.now - (w.replica.signal_ns or 0) for w in asking if w.replica is not None]
        if waited and min(waited) >= TIMEOUT and (last is None or remaining_window(last, self.now, self.settings) == 0):
            assert isinstance(next_gate(state, self.now, self.settings), Open)

    @precondition(lambda self: all(w.reach is Reach.SYNCED for w in self.workers.values()))
    @rule()
    def settles(self) -> None:
        """Passes come to rest: reapplying a decision to the state it led to yields no action."""
        for _ in range(8):
            decision = self.run_pass()
            if not decision.actions:
                return
            for action in decision.actions:
                self.apply(action)
        raise AssertionError(decision)


TestOneClusterPerTimeout = OneClusterPerTimeout.TestCase
TestOneClusterPerTimeout.settings = hypothesis_settings(max_examples=200, stateful_step_count=40)
