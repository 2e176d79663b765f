"""Reapplying a decision to the state that it leads to yields no action, for every row of every table."""

import pytest

from config.api.identifiers import WorkerName
from gates.decision.decide import decide
from gates.model.settings import UngatedPolicy
from tests.support.simulated_group import SimulatedGroup
from tests.unit.gates import decision_edges as edges
from tests.unit.gates import decision_table as rows
from tests.unit.gates import gate_table
from tests.unit.gates.cases import SEQUENTIAL, Case
from tests.unit.gates.groups import NOW

TABLES = (rows.OWNERSHIP, rows.DISPATCH, rows.FOLLOWING, rows.LEAVING, rows.GATES)
EDGES = (edges.WAITING, edges.ROUNDS, edges.TARGETS, edges.ENDINGS, edges.OPENINGS)
OPENINGS = {name: Case(case.group, settings=case.settings) for name, case in gate_table.CASES.items()}


def _settles(case: Case, policies: dict[WorkerName, UngatedPolicy]) -> None:
    state = SimulatedGroup(case.group, NOW)
    for _ in range(6):
        decision = decide(state.seen(), NOW, case.settings, policies)
        if not decision.actions:
            return
        state.carry_out(decision)
    pytest.fail(f"still acts: {decision}")


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=name) for table in (*TABLES, OPENINGS) for name, case in table.items()]
)
def test_a_decision_that_was_carried_out_is_not_made_again(case: Case) -> None:
    _settles(case, SEQUENTIAL)


@pytest.mark.parametrize("case", [pytest.param(case, id=name) for table in EDGES for name, case in table.items()])
def test_a_decision_in_a_corner_that_was_carried_out_is_not_made_again(case: Case) -> None:
    _settles(case, edges.EXCLUDE)
