"""Any interleaving of signals, partitions, restarts, reverted writes and slow requests keeps one cluster per timeout.

So under every policy, with forecasts of every kind, right or wrong, that come, change and go.
The machine plays hub and workers; `decide` plays itself. A pass may be cut off after any of its actions, as a
kill would do. A restart loses what the process remembers; the hub object and the workers' objects stay. The promise
is checked in true time by `WatchedGroup`; the clock that `decide` is given may be set at any moment.
"""

from dataclasses import replace

from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from config.api.identifiers import WorkerName
from engine.forecasting.forecast import Cost, Forecast, ForecastVerdict
from gates.decision.decide import decide
from gates.decision.ledger import known_openings
from gates.decision.opening import Open, candidates, next_gate
from gates.decision.recordkeeping import record_to_write
from gates.decision.windows import remaining
from gates.model.actions import Decision
from gates.model.forecasts import Witness
from gates.model.settings import SECOND, Dispatcher, GatePolicy, Settings
from gates.model.view import Reach, WorkerView, WorkloadView
from tests.property.watched_group import T, WatchedGroup
from tests.unit.gates.groups import NOW, hub

NAMES = ("w1", "w2", "w3")
POLICIES = st.builds(
    Settings,
    timeout_ns=st.just(T),
    policy=st.sampled_from(GatePolicy),
    skip_futile=st.booleans(),
    grace_ns=st.sampled_from([SECOND, 10 * SECOND, T]),
    dispatcher=st.sampled_from([Dispatcher.ALL_AT_ONCE, Dispatcher.FORECAST_FIRST]),
)
FORECASTS = st.none() | st.builds(
    Forecast, st.sampled_from(ForecastVerdict), st.just(NOW), cost=st.builds(Cost, victims=st.integers(0, 3))
)
WORKERS = st.sampled_from(NAMES)


class OneClusterPerTimeout(RuleBasedStateMachine):
    """The world around one hub Workload."""

    @initialize(settings=POLICIES)
    def begin(self, settings: Settings) -> None:
        self.settings = settings
        workers = tuple(WorkerView(WorkerName(name), position) for position, name in enumerate(NAMES))
        self.state = WatchedGroup(WorkloadView(hub(), workers), NOW)

    def run_pass(self) -> Decision:
        return decide(self.state.seen(), self.state.now, self.settings, {})

    @rule(cut_after=st.none() | st.integers(0, 5))
    def reconcile(self, cut_after: int | None) -> None:
        self.state.carry_out(self.run_pass(), cut_after)

    @rule(name=WORKERS, ahead=st.integers(-60, 60))
    def signal(self, name: str, ahead: int) -> None:
        replica = self.state.workers[WorkerName(name)].replica
        if replica is not None and replica.signal_ns is None:
            self.state.change(name, signal_ns=self.state.worker_now(name) + ahead * SECOND)

    @rule(name=WORKERS, forecast=FORECASTS, reliable=st.booleans(), witnessed=st.booleans())
    def forecast(self, name: str, forecast: Forecast | None, *, reliable: bool, witnessed: bool) -> None:
        witness = Witness() if witnessed else None
        worker = self.state.workers[WorkerName(name)]
        self.state.workers[WorkerName(name)] = replace(
            worker, forecast=forecast, forecast_reliable=reliable, witness=witness
        )

    @rule(name=WORKERS)
    def revert_open_gate(self, name: str) -> None:
        replica = self.state.workers[WorkerName(name)].replica
        if replica is not None and replica.gate_open:
            self.state.reverted.add(replica.uid)
            self.state.change(name, gate_open=False, gate_opened_ns=None)

    @rule(name=WORKERS)
    def overlook_the_opening(self, name: str) -> None:
        message = "Workload requires preemption, but it's gated"
        self.state.conclude(name, "QuotaReserved", status="False", reason="Pending", message=message)

    @rule(name=WORKERS)
    def lose(self, name: str) -> None:
        self.state.away_since.setdefault(name, self.state.passed)
        self.state.workers[WorkerName(name)] = replace(self.state.workers[WorkerName(name)], reach=Reach.LOST)

    @rule(name=WORKERS)
    def find_again(self, name: str) -> None:
        self.state.away_since.pop(name, None)
        self.state.workers[WorkerName(name)] = replace(self.state.workers[WorkerName(name)], reach=Reach.SYNCED)

    @rule(name=WORKERS)
    def replica_vanishes(self, name: str) -> None:
        self.state.workers[WorkerName(name)] = replace(self.state.workers[WorkerName(name)], replica=None)

    @rule(seconds=st.integers(1, 40))
    def time_passes(self, seconds: int) -> None:
        self.state.pass_time(seconds * SECOND)

    @rule(seconds=st.integers(-4000, 4000))
    def the_clock_is_set(self, seconds: int) -> None:
        self.state.now += seconds * SECOND
        for name, worker in self.state.workers.items():
            self.state.workers[name] = replace(worker, clock_skew_ns=worker.clock_skew_ns - seconds * SECOND)

    @rule(slow=st.booleans())
    def requests_become_slow_or_fast(self, *, slow: bool) -> None:
        self.state.slow = slow

    @rule()
    def what_is_on_its_way_arrives(self) -> None:
        self.state.arrive()

    @rule(another_machine=st.booleans())
    def restart(self, *, another_machine: bool) -> None:
        if not self.state.seen().workload.lost_openings:
            self.state.restart(another_machine=another_machine)

    @rule(sent=st.integers(0, 20), wait=st.integers(0, 35), restarts=st.booleans())
    def an_opening_arrives_unseen(self, sent: int, wait: int, *, restarts: bool) -> None:
        """Let it arrive while it cannot be seen: the process died, or the worker is out of reach when it does."""
        self.state.slow = True
        for name in NAMES:
            self.reconcile(None)
            self.signal(name, -1)
        self.reconcile(None)
        self.reconcile(None)
        self.state.pass_time(sent * SECOND)
        if restarts and self.state.flights:
            self.restart(another_machine=False)
        holders = [flight.action.cluster for flight in self.state.flights]
        self.state.arrive()
        self.state.slow = False
        for name in holders:
            self.lose(name)
        self.state.pass_time(wait * SECOND)
        self.reconcile(None)
        self.reconcile(None)

    @rule()
    def the_record_is_lost(self) -> None:
        self.state.seen()
        self.state.workload = replace(self.state.workload, openings=())

    @rule()
    def no_worker_waits_for_a_policy_beyond_the_timeout(self) -> None:
        group, now = self.state.seen(), self.state.now
        asking = candidates(group, now)
        waited = [now - ((w.replica.signal_ns or 0) - w.clock_skew_ns) for w in asking if w.replica is not None]
        is_free = all(remaining(opening, group, now, self.settings) == 0 for opening in known_openings(group))
        if waited and min(waited) >= T and is_free and not self.state.flights:
            is_true = record_to_write(group, now, self.settings) is None
            assert not is_true or isinstance(next_gate(group, now, self.settings), Open)

    @precondition(lambda self: all(w.reach is Reach.SYNCED for w in self.state.workers.values()))
    @rule()
    def settles(self) -> None:
        """Passes come to rest: reapplying a decision to the state it led to yields no action."""
        self.state.slow = False
        while self.state.flights:
            self.state.arrive()
        for _ in range(12):
            decision = self.run_pass()
            if not decision.actions:
                return
            self.state.carry_out(decision)
        raise AssertionError(decision)


TestOneClusterPerTimeout = OneClusterPerTimeout.TestCase
TestOneClusterPerTimeout.settings = hypothesis_settings(max_examples=200, stateful_step_count=40)
