"""Jobs as the caches keep them, on the hub and on workers: frozen, and without their decoded pod templates.

A hub job that may still be copied keeps what a copy needs as compact JSON, which spares a read for each copy.
"""

from collections.abc import Callable
from dataclasses import dataclass
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
    """Read a count that a user controls; what is no sensible count is refused."""
    if kind.size is None:
        return None
    value = field_at(raw, kind.size)
    size = 1 if value is None else value
    if not isinstance(size, int) or not 0 <= size <= _LARGEST_SIZE:
        raise ValueError(f"{'.'.join(kind.size)} is {size!r}: expected a number from 0 to {_LARGEST_SIZE}")
    return size
