"""Scenarios 68 to 94 of the MultiKueue specification as far as one decision shows them."""

import pytest

from gates.decision.opening import Hold, Idle, Open, Wait, next_gate
from gates.model.settings import MINUTE, SECOND
from tests.unit.gates.gate_table import CASES, Case, recorded
from tests.unit.gates.groups import NOW, SETTINGS, T, condition, group, hub, replica, signalled, worker


def opens(result: object) -> tuple[str, int] | None:
    return (result.worker.name, result.opening.opened_ns) if isinstance(result, Open) else None


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_next_gate(case: Case) -> None:
    got = next_gate(case.group, NOW, case.settings)
    match got:
        case Open():
            assert opens(got) == case.want
        case Wait(remaining_ns=remaining):
            assert case.want == ("wait", remaining)
        case Hold():
            assert case.want == "hold"
        case Idle():
            assert case.want == "idle"


EVICTED = {"Evicted": condition("Evicted", at=NOW - 30 * SECOND)}


def test_79_after_an_eviction_the_next_signal_of_that_worker_opens_at_once_in_a_window_of_its_own() -> None:
    evicted = signalled("w1", at=NOW - 10 * SECOND, conditions=EVICTED)
    state = group(hub(openings=recorded("w1", NOW - MINUTE)), worker("w1", evicted), worker("w2", replica("w2")))
    assert opens(next_gate(state, NOW, SETTINGS)) == ("w1", NOW)


@pytest.mark.parametrize("evicted_ns", [NOW - 2 * MINUTE, NOW - 30 * SECOND], ids=["before", "after"])
def test_F6_F13_an_eviction_on_the_holding_worker_ends_no_window_for_the_others(evicted_ns: int) -> None:
    evicted = replica("w1", condition("Evicted", at=evicted_ns))
    state = group(
        hub(openings=recorded("w1", NOW - MINUTE)), worker("w1", evicted), worker("w2", signalled("w2", at=NOW))
    )
    got = next_gate(state, NOW, SETTINGS)
    assert isinstance(got, Wait)
    assert got.remaining_ns == T - MINUTE
