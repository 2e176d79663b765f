"""Jobs as the caches keep them, on the hub and on workers: frozen, and without their decoded pod templates.

A hub job that may still be copied keeps what a copy needs as compact JSON, which spares a read for each copy.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any, Final

from config.api.identifiers import NO_WORKER, ClusterUID, WorkerName
from config.api.meta import Obj, ObjectKey
from config.names import MULTIKUEUE_NAME
from gates.jobs.copying import field_at, manager_of, named_workload
from gates.jobs.kinds import JobKind, Path, StatusSync
from gates.jobs.status import ENDED, checked_status, has
from gates.model import marks
from gates.model.fields import (
    block,
    compact_json,
    flag,
    items,
    needed_text,
    refusal,
    refuses_odd_shapes,
    text,
    text_map,
)
from gates.model.job_plan import ObjectVersion
from gates.targets.rules import target_annotations

_LARGEST_SIZE: Final = 1_000_000
_COPIED_METADATA: Final = ("name", "namespace", "uid", "labels", "annotations")


@dataclass(frozen=True, slots=True)
class PodGroupSize:
    """One group of pods: its name, and the numbers that make its size, None where the job leaves one out."""

    name: str
    numbers: tuple[int | None, ...]
    least: int = 0
    """How many it has at least, of what its first number counts, whatever that says."""

    @property
    def pods(self) -> int:
        """Return how many pods the group has, as Kueue counts them: a number beyond the first is 1 at least."""
        return self.pods_with(0)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Return the numbers as Kueue counts them: one that is absent is 1, one beyond the first is 1 at least."""
        first, *others = (1 if number is None else number for number in self.numbers)
        return (first, *(max(1, number) for number in others))

    def pods_with(self, least: int) -> int:
        """Return how many pods it has where the first number is raised to a minimum."""
        first, *others = self.sizes
        return max(first, least) * prod(others)


@dataclass(frozen=True, slots=True)
class JobRecord:
    """A job, with what the rules of its kind read."""

    namespace: str
    name: str
    uid: str
    resource_version: str
    origin: str
    hub: ClusterUID
    hub_uid: str
    workload: str
    """The replica that a remote job names."""
    group: str
    """The group that joins several objects to one Workload."""
    manager: str
    elastic: bool
    size: int | None
    body: Obj
    """The object reduced to its status and the fields of its spec that are compared."""
    deleted: bool = False
    document: bytes = b""
    """On the hub, while a copy may still have to be made of it: metadata and spec as JSON."""
    groups: tuple[PodGroupSize, ...] = ()
    """The groups of an elastic job that has several, in the order of its list."""
    unsupported: str = ""
    """What the job asks for that cannot be had across clusters."""
    cluster: WorkerName = NO_WORKER
    """The worker's name under which a remote job was written."""
    targets: Mapping[str, str] = field(default_factory=dict)
    """On the hub, annotations about the workers that it may go to."""

    @property
    def key(self) -> ObjectKey:
        """Return namespace and name."""
        return ObjectKey(self.namespace, self.name)

    @property
    def version(self) -> ObjectVersion:
        """Return which version of the object this is."""
        return ObjectVersion(self.uid, self.resource_version)


def job_reader(kind: JobKind, *, on_hub: bool = False) -> Callable[[Obj], JobRecord]:
    """Return what reads objects of a kind, on the hub or on a worker; it raises ValueError for what is malformed."""

    @refuses_odd_shapes
    def read(raw: Obj) -> JobRecord:
        if not isinstance(raw, dict):
            raise refusal("the object", raw, "a map")
        metadata = block(raw, "metadata", "")
        labels, annotations = text_map(metadata, "labels", "metadata"), text_map(metadata, "annotations", "metadata")
        elastic = annotations.get(marks.ELASTIC) == "true"
        manager = manager_of(kind, raw)
        return JobRecord(
            namespace=text(metadata, "namespace", "metadata"),
            name=needed_text(metadata, "name", "metadata"),
            uid=needed_text(metadata, "uid", "metadata"),
            resource_version=needed_text(metadata, "resourceVersion", "metadata"),
            origin=marks.origin_of(metadata),
            hub=marks.hub_of(metadata),
            hub_uid=marks.hub_uid_of(metadata),
            workload=named_workload(raw) if kind.prebuilt else "",
            group=labels.get(kind.grouped_by, "") if kind.grouped_by else "",
            manager=manager,
            elastic=elastic,
            size=_size(kind, raw),
            body=_body(kind, raw, elastic=elastic),
            deleted=bool(text(metadata, "deletionTimestamp", "metadata")),
            document=_document(raw) if on_hub and manager == MULTIKUEUE_NAME else b"",
            groups=_groups(kind, raw) if elastic else (),
            unsupported=_unsupported(kind, raw) if elastic else "",
            cluster=marks.cluster_of(metadata),
            targets=target_annotations(annotations) if on_hub else {},
        )

    return read


def _document(raw: Obj) -> bytes:
    if has(block(raw, "status", ""), ENDED):
        return b""
    metadata = {name: raw["metadata"][name] for name in _COPIED_METADATA if name in raw["metadata"]}
    return compact_json({"metadata": metadata, "spec": block(raw, "spec", "")}, "spec")


def _body(kind: JobKind, raw: Obj, *, elastic: bool) -> Obj:
    """Keep what the rules of the kind read, each of the type that they expect."""
    spec = block(raw, "spec", "")
    body: Obj = {"spec": {}, "status": checked_status(kind, block(raw, "status", ""))}
    if kind.status is StatusSync.BATCH_JOB and "suspend" in spec:
        body["spec"]["suspend"] = flag(spec, "suspend", "spec")
    if kind.status is StatusSync.POD and "schedulingGates" in spec:
        body["spec"]["schedulingGates"] = [gate for _, gate in items(spec, "schedulingGates", "spec")]
    if deletion := text(raw["metadata"], "deletionTimestamp", "metadata"):
        body["metadata"] = {"deletionTimestamp": deletion}
    if elastic or not kind.forward_elastic_only:
        for path in kind.forward:
            value = field_at(raw, path)
            _put(body, path, _count(value, ".".join(path)) if kind.forward_elastic_only else value)
    if elastic and kind.size_limit is not None:
        _put(body, kind.size_limit, _count(field_at(raw, kind.size_limit), ".".join(kind.size_limit)))
    return body


def _put(obj: Obj, path: Path, value: Any) -> None:
    for step in path[:-1]:
        obj = obj.setdefault(step, {})
    obj[path[-1]] = value


def _size(kind: JobKind, raw: Obj) -> int | None:
    if kind.size is None:
        return None
    size = _count(field_at(raw, kind.size), ".".join(kind.size))
    return 1 if size is None else size


def _groups(kind: JobKind, raw: Obj) -> tuple[PodGroupSize, ...]:
    sizes = kind.groups
    if sizes is None:
        return ()
    parent = field_at(raw, sizes.path[:-1])
    if not isinstance(parent, dict):
        return ()
    return tuple(
        PodGroupSize(
            text(item, sizes.name, place),
            tuple(_count(item.get(each), f"{place}.{each}") for each in sizes.factors),
            _count(item.get(sizes.least), f"{place}.{sizes.least}") or 0 if sizes.least else 0,
        )
        for place, item in items(parent, sizes.path[-1], ".".join(sizes.path[:-1]))
    )


def _unsupported(kind: JobKind, raw: Obj) -> str:
    if kind.groups is None or not field_at(raw, kind.groups.autoscaling):
        return ""
    return f"an elastic {kind.kind} with {'.'.join(kind.groups.autoscaling)}, which would be sized from two sides"


def _count(value: Any, place: str) -> int | None:
    """Read a count that a user controls; what is no sensible count is refused."""
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _LARGEST_SIZE:
        raise refusal(place, value, f"a number from 0 to {_LARGEST_SIZE}")
    return value
