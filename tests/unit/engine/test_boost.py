"""Priority boost and preemption cost."""

import pytest

from engine.objects.boost import effective_priority, preemption_cost, priority_boost, refused_boost
from engine.vocabulary.features import FeatureGates

BOOST = "kueue.x-k8s.io/priority-boost"
COST = "kueue.x-k8s.io/preemption-cost"
ON = FeatureGates(priority_boost=True, preemption_cost=True)
OFF = FeatureGates()
INVALID = ["1_000", " 5", "5 ", "0x10", "5.0", "1e3", "--1", "+", "five", "2147483648", "-2147483649", "٥"]


@pytest.mark.parametrize(
    ("text", "want"), [("50", 50), ("+1", 1), ("-100000", -100000), ("007", 7), ("2147483647", 2**31 - 1)]
)
def test_boost_and_cost_are_decimal_int32(text: str, want: int) -> None:
    assert priority_boost({BOOST: text}, ON) == (want, None)
    assert preemption_cost({COST: text}, ON) == (want, None)


@pytest.mark.parametrize("text", INVALID)
def test_127_unusable_value_counts_as_zero_with_one_warning(text: str) -> None:
    for key, read in ((BOOST, priority_boost), (COST, preemption_cost)):
        value, warning = read({key: text}, ON)
        assert value == 0
        assert warning == f'annotation {key}: "{text}" is not an integer from -2147483648 to 2147483647; it counts as 0'


@pytest.mark.parametrize("annotations", [None, {}, {BOOST: "", COST: ""}])
def test_missing_or_empty_is_zero_without_a_warning(annotations: dict[str, str] | None) -> None:
    assert priority_boost(annotations, ON) == (0, None)
    assert preemption_cost(annotations, ON) == (0, None)


@pytest.mark.parametrize("text", ["50", "five"])
def test_125_without_its_gate_the_annotation_is_not_even_read(text: str) -> None:
    assert priority_boost({BOOST: text}, OFF) == (0, None)
    assert preemption_cost({COST: text}, OFF) == (0, None)


def test_128_effective_priority_outgrows_int32() -> None:
    assert effective_priority(2**31 - 1, priority_boost({BOOST: "+1"}, ON)) == 2**31
    assert effective_priority(None, priority_boost({BOOST: "-5"}, ON)) == -5


@pytest.mark.parametrize("text", [*INVALID, ""])
def test_129_webhook_refuses_with_the_gate_only(text: str) -> None:
    refusal = refused_boost({BOOST: text}, ON)
    assert refusal is not None
    assert str(refusal).startswith(f'metadata.annotations[{BOOST}]: "{text}" is not allowed: must be an integer')
    assert refused_boost({BOOST: text}, OFF) is None


def test_webhook_accepts_a_number_and_absence() -> None:
    assert refused_boost({BOOST: "0"}, ON) is None
    assert refused_boost({}, ON) is None
    assert refused_boost(None, ON) is None
