"""Jobs as the caches keep them, on the hub and on workers: frozen, and without their decoded pod templates.

A hub job that may still be copied keeps what a copy needs as compact JSON, which spares a read for each copy.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any, Final

import orjson

from config.names import MULTIKUEUE_NAME
from gates import marks
from gates.jobs.copying import field_at, manager_of, named_workload
from gates.jobs.kinds import JobKind, Path

Obj = dict[str, Any]

_LARGEST_SIZE: Final = 1_000_000
_COPIED_METADATA: Final = ("name", "namespace", "uid", "labels", "annotations")
_ENDED: Final = frozenset({"Complete", "Failed"})


@dataclass(frozen=True, slots=True)
class PodGroup:
    """One group of pods: its name, and the numbers that make its size, None where the job leaves one out."""

    name: str
    numbers: tuple[int | None, ...]

    @property
    def pods(self) -> int:
        """Return how many pods the group has."""
        return prod(1 if number is None else number for number in self.numbers)


@dataclass(frozen=True, slots=True)
class JobRecord:
    """A job, with what the rules of its kind look at."""

    namespace: str
    name: str
    uid: str
    resource_version: str
    origin: str
    hub: str
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
    groups: tuple[PodGroup, ...] = ()
    """The groups of an elastic job that has several, in the order of its list."""
    unsupported: str = ""
    """What the job asks for that cannot be had across clusters."""


def job_reader(kind: JobKind, *, on_hub: bool = False) -> Callable[[Obj], JobRecord]:
    """Return what reads objects of a kind, on the hub or on a worker."""

    def read(raw: Obj) -> JobRecord:
        metadata = raw["metadata"]
        labels, annotations = metadata.get("labels") or {}, metadata.get("annotations") or {}
        elastic = annotations.get(marks.ELASTIC) == "true"
        manager = manager_of(kind, raw)
        return JobRecord(
            namespace=metadata.get("namespace") or "",
            name=metadata["name"],
            uid=metadata["uid"],
            resource_version=metadata["resourceVersion"],
            origin=marks.origin_of(metadata),
            hub=marks.hub_of(metadata),
            hub_uid=marks.hub_uid_of(metadata),
            workload=named_workload(raw),
            group=str(labels.get(kind.grouped_by) or "") if kind.grouped_by else "",
            manager=manager,
            elastic=elastic,
            size=_size(kind, raw),
            body=_body(kind, raw, elastic=elastic),
            deleted=bool(metadata.get("deletionTimestamp")),
            document=_document(raw) if on_hub and manager == MULTIKUEUE_NAME else b"",
            groups=_groups(kind, raw) if elastic else (),
            unsupported=_unsupported(kind, raw) if elastic else "",
        )

    return read


def _document(raw: Obj) -> bytes:
    status = raw.get("status") or {}
    ended = any(c.get("type") in _ENDED and c.get("status") == "True" for c in status.get("conditions") or ())
    if ended:
        return b""
    metadata = {name: raw["metadata"][name] for name in _COPIED_METADATA if name in raw["metadata"]}
    return orjson.dumps({"metadata": metadata, "spec": raw.get("spec") or {}})


def _body(kind: JobKind, raw: Obj, *, elastic: bool) -> Obj:
    spec = raw.get("spec") or {}
    kept = {field: spec[field] for field in ("suspend", "schedulingGates") if field in spec}
    body: Obj = {"spec": kept, "status": raw.get("status") or {}}
    if deletion := raw["metadata"].get("deletionTimestamp"):
        body["metadata"] = {"deletionTimestamp": deletion}
    if elastic or not kind.forward_elastic_only:
        for path in kind.forward:
            _put(body, path, field_at(raw, path))
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


def _groups(kind: JobKind, raw: Obj) -> tuple[PodGroup, ...]:
    if kind.groups is None:
        return ()
    sizes, place = kind.groups, ".".join(kind.groups.path)
    items = field_at(raw, sizes.path) or ()
    return tuple(
        PodGroup(
            str(item.get(sizes.name) or ""),
            tuple(_count(item.get(each), f"{place}[{index}].{each}") for each in sizes.factors),
        )
        for index, item in enumerate(items)
    )


def _unsupported(kind: JobKind, raw: Obj) -> str:
    if kind.groups is None or not field_at(raw, kind.groups.autoscaling):
        return ""
    return f"an elastic {kind.kind} with {'.'.join(kind.groups.autoscaling)}, which would be sized from two sides"


def _count(value: Any, place: str) -> int | None:
    """Read a count that a user controls; what is no sensible count is refused."""
    if value is None:
        return None
    if not isinstance(value, int) or not 0 <= value <= _LARGEST_SIZE:
        raise ValueError(f"{place} is {value!r}: expected a number from 0 to {_LARGEST_SIZE}")
    return value
