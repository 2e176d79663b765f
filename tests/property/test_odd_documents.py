"""A cluster's OpenAPI document may be any JSON: what it says about gates is read, or it says nothing."""

from copy import deepcopy

from hypothesis import given
from hypothesis import strategies as st

from engine.vocabulary.gate_dialect import GateDialect
from gates.assembly.gate_support import describes_workloads, dialect_served
from tests.support.gate_schema import GATED_SCHEMA

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def places(document: object) -> list[tuple[str, ...]]:
    if not isinstance(document, dict):
        return [()]
    return [(), *((name, *rest) for name, inner in document.items() for rest in places(inner))]


def with_odd(path: tuple[str, ...], odd: object) -> object:
    """Return the document with something else at one place."""
    if not path:
        return odd
    changed = deepcopy(GATED_SCHEMA)
    inner = changed
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = odd
    return changed


def test_a_document_that_tells_is_understood() -> None:
    assert dialect_served(GATED_SCHEMA) == (GateDialect.KUEUE, True)
    assert describes_workloads(GATED_SCHEMA)


@given(JSON)
def test_F1_any_document_is_read_without_a_failure(document: object) -> None:
    dialect, knows_gates = dialect_served(document)
    assert knows_gates or describes_workloads(document)
    assert dialect is None or knows_gates


@given(st.sampled_from(places(GATED_SCHEMA)), JSON)
def test_F1_anything_at_any_place_of_a_document_is_read_without_a_failure(path: tuple[str, ...], odd: object) -> None:
    document = with_odd(path, odd)
    _, knows_gates = dialect_served(document)
    assert knows_gates or describes_workloads(document)
