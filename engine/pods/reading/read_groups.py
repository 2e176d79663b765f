"""Raw PodGroup and PodDisruptionBudget objects as values, in every spelling of the API.

`disruptionMode` is text in v1alpha2 and in KEP-5710, a union in v1beta1, and KEP-5710 keeps it inside the scheduling
policy. Only what a scheduler could not use is an error here; what an API server would refuse or drop is reported by
`engine.pods.reading.validation`.
"""

from collections.abc import Mapping
from typing import Any, Final

from config.api.selectors import SelectorError, check_selector
from engine.objects.field_checks import require_integer
from engine.pods.reading.read_pods import pod_key
from engine.pods.values.priorities import PriorityClasses, reads_never
from engine.pods.values.values import DisruptionBudget, PodGroup
from engine.vocabulary.errors import FieldError

MODE_SPELLINGS: Final = ("Pod", "PodGroup", '{"single": {}}', '{"all": {}}')
_MODES_AS_TEXT: Final = {"Pod": False, "PodGroup": True}
_MODES_AS_UNION: Final = {"single": False, "all": True}
_COUNTS: Final = range(1, 2**31)


def read_group(raw: Mapping[str, Any], classes: PriorityClasses) -> PodGroup:
    """Read a raw PodGroup."""
    spec = raw.get("spec") or {}
    resolved = classes.resolve(spec)
    never = reads_never(spec, "preemptionPolicy", "spec.preemptionPolicy")
    return PodGroup(
        key=pod_key(raw),
        priority=resolved.value,
        min_count=_read_min_count(spec),
        is_one_unit=read_disruption_mode(spec, "spec"),
        never_preempts=resolved.never_preempts if never is None else never,
        unsupported=tuple(_unsupported(spec)),
    )


def read_disruption_mode(spec: Mapping[str, Any], path: str) -> bool:
    """Return whether the group is disrupted as one; pod by pod when nothing is said."""
    field, value = disruption_mode_of(spec, path)
    match value:
        case None:
            return False
        case str() if value in _MODES_AS_TEXT:
            return _MODES_AS_TEXT[value]
        case Mapping():
            members = [name for name, block in value.items() if block is not None]
            if len(members) == 1 and members[0] in _MODES_AS_UNION:
                return _MODES_AS_UNION[members[0]]
    raise FieldError.not_allowed(field, value, MODE_SPELLINGS)


def disruption_mode_of(spec: Mapping[str, Any], path: str) -> tuple[str, Any]:
    """Return the disruption mode as it is written, and where it stands."""
    policy = spec.get("schedulingPolicy") or {}
    if spec.get("disruptionMode") is None and policy.get("disruptionMode") is not None:
        return f"{path}.schedulingPolicy.disruptionMode", policy["disruptionMode"]
    return f"{path}.disruptionMode", spec.get("disruptionMode")


def read_budget(raw: Mapping[str, Any]) -> DisruptionBudget:
    """Read a raw PodDisruptionBudget; a selector that the API server would refuse is an error."""
    selector, status = (raw.get("spec") or {}).get("selector") or {}, raw.get("status") or {}
    try:
        check_selector(selector)
    except SelectorError as refusal:
        raise FieldError("spec.selector", str(refusal)) from None
    allowed = status.get("disruptionsAllowed") or 0
    for error in require_integer({"disruptionsAllowed": allowed}, "disruptionsAllowed", "status", range(2**31)):
        raise error
    return DisruptionBudget(pod_key(raw), selector, allowed, frozenset(status.get("disruptedPods") or ()))


def _read_min_count(spec: Mapping[str, Any]) -> int | None:
    policy = spec.get("schedulingPolicy") or {}
    gang, basic = policy.get("gang"), policy.get("basic")
    if (gang is None) == (basic is None):
        raise FieldError("spec.schedulingPolicy", "must specify exactly one of: basic, gang")
    if gang is None:
        return None
    for error in require_integer(gang, "minCount", "spec.schedulingPolicy.gang", _COUNTS):
        raise error
    return int(gang["minCount"])


def _unsupported(spec: Mapping[str, Any]) -> list[str]:
    found = []
    if spec.get("parentCompositePodGroupName"):
        found.append("spec.parentCompositePodGroupName")
    if (spec.get("schedulingConstraints") or {}).get("topology"):
        found.append("spec.schedulingConstraints.topology")
    if spec.get("resourceClaims"):
        found.append("spec.resourceClaims")
    return found
