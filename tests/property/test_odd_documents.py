"""A cluster's OpenAPI document may be any JSON: what it says about gates is read, or it says nothing."""

from copy import deepcopy

from hypothesis import given
from hypothesis import strategies as st

from engine.vocabulary.gate_dialect import GateDialect
from gates.detection.schema_facts import schema_facts
from tests.support.gate_schema import GATED_SCHEMA

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)

SERVED = st.lists(st.sampled_from(["v1beta1", "v1beta2", "v1alpha1", "v1"]), unique=True)


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
    found = schema_facts(GATED_SCHEMA, ())
    assert (found.dialect, found.has_gates, found.is_described) == (GateDialect.KUEUE, True, True)


@given(JSON, SERVED)
def test_F1_any_document_is_read_without_a_failure(document: object, served: list[str]) -> None:
    found = schema_facts(document, served)
    assert found.has_gates or found.is_described or "v1beta2" not in served
    assert found.dialect is None or found.has_gates
    assert str(found.releases)


@given(st.sampled_from(places(GATED_SCHEMA)), JSON)
def test_F1_anything_at_any_place_of_a_document_is_read_without_a_failure(path: tuple[str, ...], odd: object) -> None:
    found = schema_facts(with_odd(path, odd), ["v1beta2", "v1beta1"])
    assert found.has_gates or found.is_described
    oldest = found.releases.oldest
    assert oldest is None or oldest < 20 or "effectiveQuotas" in str(odd) or "unschedulable" in str(odd)
