"""What an API server answers to a PodGroup or a Workload of scheduling.k8s.io, as diagnostics.

Objects of a live cluster have passed all this; manifests have not. The texts are the server's own, so that they can be
recognised. Invariant: an object without errors can be read by `engine.pods.reading.read_groups`.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, assert_never

from config.api.meta import ObjectKey
from engine.pods.reading.object_shapes import check_structure
from engine.pods.reading.read_groups import disruption_mode_of
from engine.pods.reading.read_pods import pod_key
from engine.pods.values.priorities import HIGHEST_USER_PRIORITY, POLICIES, PriorityClasses

GROUP: Final = "scheduling.k8s.io"
_MOST_TEMPLATES: Final = 8
_MOST_TOPOLOGIES: Final = 1
_INT32: Final = range(-(2**31), 2**31)
_LABEL: Final = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?")
_LONGEST_LABEL: Final = 63
_LABEL_RULE: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
_PLURALS: Final = {"PodGroup": "podgroups", "Workload": "workloads"}
_MODES: Final = ("Pod", "PodGroup")
_MODE_MEMBERS: Final = ("single", "all")
_POLICY_MEMBERS: Final = ("basic", "gang")


class ObjectSeverity(StrEnum):
    """Whether the server refuses the object, or accepts it although it is probably a mistake."""

    INVALID = "invalid"
    FORBIDDEN = "forbidden"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One remark on one object."""

    kind: str
    key: ObjectKey
    severity: ObjectSeverity
    text: str

    @property
    def is_error(self) -> bool:
        """Return whether the server refuses the object because of this."""
        return self.severity is not ObjectSeverity.WARNING

    def __str__(self) -> str:
        """Write the remark as the server does."""
        name = self.key.name
        match self.severity:
            case ObjectSeverity.INVALID:
                return f'{self.kind}.{GROUP} "{name}" is invalid: {self.text}'
            case ObjectSeverity.FORBIDDEN:
                return f'{_PLURALS[self.kind]}.{GROUP} "{name}" is forbidden: {self.text}'
            case ObjectSeverity.WARNING:
                return f'{self.kind} "{self.key}": {self.text}'
            case _:
                assert_never(self.severity)


def is_examined(raw: Mapping[str, Any]) -> bool:
    """Return whether an object is a PodGroup or a Workload of this API group."""
    api_version = raw.get("apiVersion")
    in_group = isinstance(api_version, str) and api_version.startswith(f"{GROUP}/")
    return in_group and raw.get("kind") in _PLURALS


def diagnose(raw: Mapping[str, Any], classes: PriorityClasses) -> list[Diagnostic]:
    """Return everything that a server, or KEP-5710, has to say on an object."""
    kind = raw["kind"]
    check_structure(kind, raw)
    spec = raw.get("spec") or {}
    found = _of_group(spec, "spec", classes) if kind == "PodGroup" else _of_workload(spec, classes)
    return [Diagnostic(kind, pod_key(raw), severity, text) for severity, text in found]


_Remark = tuple[ObjectSeverity, str]


def _of_workload(spec: Mapping[str, Any], classes: PriorityClasses) -> Iterator[_Remark]:
    templates = spec.get("podGroupTemplates") or []
    path = "spec.podGroupTemplates"
    if not templates and not spec.get("compositePodGroupTemplates"):
        yield ObjectSeverity.INVALID, f"{path}: Required value"
    if len(templates) > _MOST_TEMPLATES:
        yield ObjectSeverity.INVALID, f"{path}: Too many: {len(templates)}: must have at most {_MOST_TEMPLATES} items"
    names: set[str] = set()
    for index, template in enumerate(templates):
        name = template.get("name") or ""
        if name in names:
            yield ObjectSeverity.INVALID, f"{path}[{index}]: Duplicate value: {json.dumps({'name': name})}"
        names.add(name)
        yield from _of_name(name, f"{path}[{index}].name")
        yield from _of_group(template, f"{path}[{index}]", classes)
    if len({(template.get("priorityClassName") or "", template.get("priority")) for template in templates}) > 1:
        yield ObjectSeverity.INVALID, "spec: Invalid value: null: detected multiple priority configurations"


def _of_name(name: str, path: str) -> Iterator[_Remark]:
    if not name:
        yield ObjectSeverity.INVALID, f"{path}: Required value"
    elif len(name) > _LONGEST_LABEL:
        yield ObjectSeverity.INVALID, f"{path}: Invalid value: {json.dumps(name)}: must be no more than 63 bytes"
    elif not _LABEL.fullmatch(name):
        yield ObjectSeverity.INVALID, f"{path}: Invalid value: {json.dumps(name)}: {_LABEL_RULE}"


def _of_group(spec: Mapping[str, Any], path: str, classes: PriorityClasses) -> Iterator[_Remark]:
    yield from _of_policy(spec.get("schedulingPolicy") or {}, f"{path}.schedulingPolicy")
    yield from _of_disruption_mode(spec, path)
    yield from _of_priority(spec, path, classes)
    policy = spec.get("preemptionPolicy")
    if policy is not None and policy not in POLICIES:
        yield ObjectSeverity.INVALID, f"{path}.preemptionPolicy: {_unsupported(policy, POLICIES)}"
    topology = (spec.get("schedulingConstraints") or {}).get("topology") or []
    if len(topology) > _MOST_TOPOLOGIES:
        field = f"{path}.schedulingConstraints.topology"
        yield ObjectSeverity.INVALID, f"{field}: Too many: {len(topology)}: must have at most {_MOST_TOPOLOGIES} item"


def _of_policy(policy: Mapping[str, Any], path: str) -> Iterator[_Remark]:
    given = [member for member in _POLICY_MEMBERS if policy.get(member) is not None]
    yield from _of_union(given, _POLICY_MEMBERS, path)
    if policy.get("gang") is None:
        return
    count, field = policy["gang"].get("minCount"), f"{path}.gang.minCount"
    if count is None or count == 0:
        yield ObjectSeverity.INVALID, f"{field}: Required value"
    elif not _is_int32(count):
        yield ObjectSeverity.INVALID, f"{field}: Invalid value: {json.dumps(count)}: must be a 32-bit integer"
    elif count < 1:
        yield ObjectSeverity.INVALID, f"{field}: Invalid value: {count}: must be greater than or equal to 1"


def _of_disruption_mode(spec: Mapping[str, Any], path: str) -> Iterator[_Remark]:
    field, mode = disruption_mode_of(spec, path)
    is_one_unit = mode == "PodGroup"
    match mode:
        case None:
            return
        case str():
            if mode not in _MODES:
                yield ObjectSeverity.INVALID, f"{field}: {_unsupported(mode, _MODES)}"
        case Mapping():
            given = [member for member in _MODE_MEMBERS if mode.get(member) is not None]
            is_one_unit = given == ["all"]
            yield from _of_union(given, _MODE_MEMBERS, field)
        case _:
            yield ObjectSeverity.INVALID, f"{field}: {_unsupported(json.dumps(mode), _MODES)}"
    if is_one_unit and (spec.get("schedulingPolicy") or {}).get("basic") is not None:
        yield (
            ObjectSeverity.WARNING,
            f"{field}: KEP-5710 allows whole-group disruption only with the gang policy; servers accept it with the "
            f"basic policy too, and the scheduler then evicts the group as one",
        )


def _of_priority(spec: Mapping[str, Any], path: str, classes: PriorityClasses) -> Iterator[_Remark]:
    name, written = spec.get("priorityClassName") or "", spec.get("priority")
    if written is not None and not _is_int32(written):
        yield ObjectSeverity.INVALID, f"{path}.priority: Invalid value: {json.dumps(written)}: must be a 32-bit integer"
        return
    found = classes.find(name)
    if name and found is None and written is None:
        yield ObjectSeverity.FORBIDDEN, f"no PriorityClass with name {name} was found"
        return
    computed = written if found is None else found.value
    if name and found is not None and written is not None and written != found.value:
        yield (
            ObjectSeverity.FORBIDDEN,
            f"priority set in the pod group ({written}) must match the priority computed ({found.value}) based on the "
            f"priority class set in the spec",
        )
    elif computed is not None and computed > HIGHEST_USER_PRIORITY:
        yield (
            ObjectSeverity.INVALID,
            f"{path}.priority: Invalid value: {computed}: must be less than or equal to {HIGHEST_USER_PRIORITY}",
        )


def _of_union(given: list[str], members: tuple[str, ...], path: str) -> Iterator[_Remark]:
    names = ", ".join(f"`{member}`" for member in members)
    if not given:
        yield ObjectSeverity.INVALID, f'{path}: Invalid value: "": must specify one of: {names}'
    elif len(given) > 1:
        shown = json.dumps("{" + ", ".join(given) + "}")
        yield ObjectSeverity.INVALID, f"{path}: Invalid value: {shown}: must specify exactly one of: {names}"


def _unsupported(value: object, allowed: tuple[str, ...]) -> str:
    supported = ", ".join(f'"{name}"' for name in allowed)
    return f'Unsupported value: "{value}": supported values: {supported}'


def _is_int32(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value in _INT32
