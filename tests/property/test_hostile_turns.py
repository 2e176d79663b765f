"""How long one worker can keep its turn from another that asks, whatever it does: what docs/security.md says.

The hostile worker may close and open its own gate, pretend to have overlooked the opening, hold requests up, hide,
evict, and make its copy again, in any order and for ever. The oracle is true time since the honest worker asked.
"""

from dataclasses import replace
from itertools import cycle

import pytest
from hypothesis import example, given, target
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from config.api.identifiers import WorkerName
from gates.decision.decide import decide
from gates.model.actions import Action, CreateReplica, OpenGate
from gates.model.settings import SECOND, Settings
from gates.model.view import Reach, WorkerView, WorkloadView
from tests.property.watched_group import T, WatchedGroup
from tests.support.worker_names import W1
from tests.unit.gates.groups import NOW, hub

TURN = 5 * T // 2 + 70 * SECOND
"""The longest turn of one that only delays: sent late, arrived late, overlooked, and all that once more."""
BY_ITSELF = 3 * T
"""What it can add by opening its own gate."""
LONGEST = TURN + BY_ITSELF
SETTINGS = Settings(timeout_ns=T)


class HostileGroup(WatchedGroup):
    """Two workers, of which w1 has its turn and does as it likes, and w2 asks."""

    def __init__(self) -> None:
        super().__init__(
            WorkloadView(hub(), tuple(WorkerView(WorkerName(name), place) for place, name in enumerate(("w1", "w2")))),
            NOW,
        )
        self.holds_up = False
        self.reconcile()
        self.asks("w1")
        self.reconcile()
        assert [opening.cluster for opening in self.openings] == ["w1"]
        self.asks("w2")
        self.asked = self.passed
        self.lies = 0

    def apply(self, action: Action) -> None:
        self.slow = self.holds_up and isinstance(action, OpenGate | CreateReplica) and action.cluster == "w1"
        super().apply(action)

    def reconcile(self) -> None:
        for _ in range(12):
            decision = decide(self.seen(), self.now, SETTINGS, {})
            if not decision.actions:
                return
            self.carry_out(decision)

    def asks(self, name: str) -> None:
        self.change(name, signal_ns=self.worker_now(name))

    @property
    def waited(self) -> int:
        """Return how long w2 has been waiting, in true time."""
        return self.passed - self.asked

    def is_over(self) -> bool:
        return any(opening.cluster == "w2" for opening in self.openings)

    # --- what w1 may do

    def does_nothing(self) -> None:
        pass

    def closes_its_gate(self) -> None:
        replica = self.workers[W1].replica
        if replica is not None and replica.gate_open:
            self.reverted.add(replica.uid)
            self.change("w1", gate_open=False, gate_opened_ns=None)

    def opens_its_gate(self) -> None:
        self.lies += 1
        if self.workers[W1].replica is not None:
            self.change("w1", gate_open=True, gate_opened_ns=self.now - 1000 * self.lies * SECOND)

    def asks_again(self) -> None:
        self.asks("w1")

    def overlooks(self) -> None:
        message = "Workload requires preemption, but it's gated"
        self.conclude("w1", "QuotaReserved", status="False", reason="Pending", message=message)
        self.conclude("w1", "Evicted", status="False")

    def evicts(self) -> None:
        self.conclude("w1", "Evicted")
        self.change("w1", gate_open=False, gate_opened_ns=None, signal_ns=None)

    def makes_its_copy_again(self) -> None:
        self.workers[W1] = self._changed(replica=None)
        self.reconcile()
        self.asks("w1")

    def hides(self) -> None:
        self.away_since.setdefault("w1", self.passed)
        self.workers[W1] = self._changed(reach=Reach.LOST)

    def shows_itself(self) -> None:
        self.away_since.pop("w1", None)
        self.workers[W1] = self._changed(reach=Reach.SYNCED)

    def holds_requests_up(self) -> None:
        self.holds_up = True

    def lets_requests_through(self) -> None:
        self.holds_up = False
        while self.flights:
            self.arrive()

    def lets_requests_through_and_hides(self) -> None:
        self.lets_requests_through()
        self.hides()

    def _changed(self, **fields: object) -> WorkerView:
        return replace(self.workers[W1], **fields)  # type: ignore[arg-type]


MOVES = {
    name: getattr(HostileGroup, name)
    for name in (
        "does_nothing",
        "closes_its_gate",
        "opens_its_gate",
        "asks_again",
        "overlooks",
        "evicts",
        "makes_its_copy_again",
        "hides",
        "shows_itself",
        "holds_requests_up",
        "lets_requests_through",
        "lets_requests_through_and_hides",
    )
}
SELF_MADE = ("opens_its_gate",)
Plan = list[tuple[str, int]]


def longest_wait(plan: Plan) -> int:
    """Let the hostile worker repeat its plan until the other one has its turn, and return how long that took."""
    state = HostileGroup()
    for move, seconds in cycle(plan):
        MOVES[move](state)
        state.reconcile()
        for _ in range(seconds):
            state.pass_time(SECOND)
            state.reconcile()
            if state.is_over():
                return state.waited
            assert state.waited <= LONGEST, plan
    raise AssertionError


def plans(moves: list[str]) -> st.SearchStrategy[Plan]:
    waits = st.sampled_from([1, 2, 5, 6, 10, 14, 15, 20, 24, 29, 30, 45, 69])
    return st.lists(st.tuples(st.sampled_from(moves), waits), min_size=1, max_size=12)


@hypothesis_settings(max_examples=300)
@given(plans(list(MOVES)))
@example([("opens_its_gate", 1), ("overlooks", 5)])
@example([("overlooks", 6), ("opens_its_gate", 1)])
@example([("opens_its_gate", 29)])
def test_F13_no_worker_keeps_its_turn_from_another_for_longer_than_is_said(plan: Plan) -> None:
    waited = longest_wait(plan)
    target(waited / SECOND)
    assert waited <= LONGEST


@hypothesis_settings(max_examples=300)
@given(plans([name for name in MOVES if name not in SELF_MADE]))
@example([("overlooks", 5), ("holds_requests_up", 9), ("lets_requests_through_and_hides", 69), ("shows_itself", 1)])
@example([("holds_requests_up", 1), ("overlooks", 24), ("lets_requests_through_and_hides", 69), ("shows_itself", 1)])
@example(
    [
        ("closes_its_gate", 1),
        ("shows_itself", 1),
        ("holds_requests_up", 1),
        ("overlooks", 69),
        ("lets_requests_through_and_hides", 1),
    ]
)
def test_F13_by_delaying_alone_a_turn_is_drawn_out_no_further_than_is_said(plan: Plan) -> None:
    waited = longest_wait(plan)
    target(waited / SECOND)
    assert waited <= TURN


@pytest.mark.parametrize(
    ("plan", "least"),
    [
        pytest.param([("does_nothing", 1)], T, id="a turn that passes"),
        pytest.param([("opens_its_gate", 29)], 2 * T, id="a gate that it opens itself"),
    ],
)
def test_F13_the_bound_is_not_met_for_want_of_trying(plan: Plan, least: int) -> None:
    assert longest_wait(plan) >= least
