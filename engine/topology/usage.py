"""Which leaves an admitted workload takes, read from its status."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from engine.topology.wire import decode
from engine.vocabulary.errors import FieldError
from engine.vocabulary.topology import PlacedPods

_MAX_TEMPLATES: Final = 1 << 12
_CONTAINER_FIELDS: Final = ("resources", "restartPolicy")
_SPEC_FIELDS: Final = ("resources", "overhead", "runtimeClassName")


class TopologyUse(NamedTuple):
    """The pods of one pod set on their leaves."""

    flavors: tuple[str, ...]
    domains: tuple[PlacedPods, ...]
    pod_spec: Mapping[str, Any]
    """What in the pod template decides how much one pod takes; equal ones are shared."""
    pod_set: str


class TopologyUseReader:
    """Reads the topology assignments of admitted workloads."""

    def __init__(self) -> None:
        self._templates: dict[str, Mapping[str, Any]] = {}

    def read(self, raw: Mapping[str, Any]) -> tuple[TopologyUse, ...]:
        """Return what a raw Workload with an admission takes on leaves; nothing where it has no assignment."""
        assignments = raw["status"]["admission"].get("podSetAssignments") or ()
        if not any(assignment.get("topologyAssignment") for assignment in assignments):
            return ()
        return tuple(self._read(raw, assignments))

    def _read(self, raw: Mapping[str, Any], assignments: Any) -> Iterator[TopologyUse]:
        specs = {
            pod_set.get("name") or "main": (pod_set.get("template") or {}).get("spec") or {}
            for pod_set in (raw.get("spec") or {}).get("podSets") or ()
        }
        for index, assignment in enumerate(assignments):
            placed = assignment.get("topologyAssignment")
            if not placed:
                continue
            path = f"status.admission.podSetAssignments[{index}].topologyAssignment"
            if not isinstance(placed, dict):
                raise FieldError(path, "must be an object")
            name = assignment.get("name") or "main"
            if name not in specs:
                raise FieldError(f"status.admission.podSetAssignments[{index}].name", f'"{name}" is no pod set')
            yield TopologyUse(
                flavors=tuple(dict.fromkeys((assignment.get("flavors") or {}).values())),
                domains=decode(placed, path).domains,
                pod_spec=self._template(specs[name]),
                pod_set=name,
            )

    def _template(self, spec: Mapping[str, Any]) -> Mapping[str, Any]:
        kept: dict[str, Any] = {name: spec[name] for name in _SPEC_FIELDS if spec.get(name)}
        for kind in ("containers", "initContainers"):
            if spec.get(kind):
                kept[kind] = [
                    {name: container[name] for name in _CONTAINER_FIELDS if container.get(name)}
                    for container in spec[kind]
                ]
        if len(self._templates) >= _MAX_TEMPLATES:
            self._templates.clear()
        return self._templates.setdefault(repr(kept), kept)
