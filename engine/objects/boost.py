"""Integers that users hang on workloads: Kueue's priority boost and KEP-7990's preemption cost.

Both annotations are decimal int32 strings, read with one rule. An invalid value never stops a workload: it counts as 0,
and the warning says so. The boost changes the priority everywhere; the cost changes only the order of victims, and a
higher cost means preempted later (docs: the KEP's formula has the opposite sign of its own meaning; the meaning wins).
"""

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from engine.vocabulary.errors import FieldError
from engine.vocabulary.features import FeatureGates

PRIORITY_BOOST_ANNOTATION: Final = "kueue.x-k8s.io/priority-boost"
PREEMPTION_COST_ANNOTATION: Final = "kueue.x-k8s.io/preemption-cost"

_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_INT32: Final = range(-(2**31), 2**31)
_MAX_DIGITS: Final = 4000
_ALLOWED: Final = f"an integer from {_INT32.start} to {_INT32.stop - 1}"


class AnnotationValue(NamedTuple):
    """What an annotation counts as, and the warning to publish when it was not usable."""

    value: int
    warning: str | None = None


_ABSENT: Final = AnnotationValue(0)


def priority_boost(annotations: Mapping[str, Any] | None, gates: FeatureGates) -> AnnotationValue:
    """Return the boost of a workload; nothing without the gate PriorityBoost."""
    return _read(annotations, PRIORITY_BOOST_ANNOTATION) if gates.priority_boost else _ABSENT


def preemption_cost(annotations: Mapping[str, Any] | None, gates: FeatureGates) -> AnnotationValue:
    """Return the preemption cost of a workload; nothing without the gate PreemptionCost."""
    return _read(annotations, PREEMPTION_COST_ANNOTATION) if gates.preemption_cost else _ABSENT


def effective_priority(base: int | None, boost: AnnotationValue) -> int:
    """Return the priority that Kueue compares: a missing base is 0, and the sum is not bounded to 32 bits."""
    return (base or 0) + boost.value


def refused_boost(annotations: Mapping[str, Any] | None, gates: FeatureGates) -> FieldError | None:
    """Return why Kueue's webhook refuses the boost; unlike the scheduler it refuses the empty text too."""
    if not gates.priority_boost or not annotations or PRIORITY_BOOST_ANNOTATION not in annotations:
        return None
    text = annotations[PRIORITY_BOOST_ANNOTATION]
    if parse_int32(text) is not None:
        return None
    return FieldError(
        f"metadata.annotations[{PRIORITY_BOOST_ANNOTATION}]", f'"{text}" is not allowed: must be {_ALLOWED}'
    )


def parse_int32(text: object) -> int | None:
    """Read a decimal 32-bit integer: a sign and digits, no spaces, underscores, fractions or exponents."""
    if not isinstance(text, str) or len(text) > _MAX_DIGITS or not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if number in _INT32 else None


def _read(annotations: Mapping[str, Any] | None, key: str) -> AnnotationValue:
    text = (annotations or {}).get(key)
    if not text:
        return _ABSENT
    number = parse_int32(text)
    if number is None:
        return AnnotationValue(0, f'annotation {key}: "{text}" is not {_ALLOWED}; it counts as 0')
    return AnnotationValue(number)
