"""What deleting an object means: at once, or marked and held by finalizers or a grace period.

Pure: decides what the object becomes; `localcluster.store.store` carries it out, `localcluster.store.gc` deletes the
dependents.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import assert_never

from config.api.meta import Obj
from localcluster.kinds.api_errors import conflict
from localcluster.kinds.clock import rfc3339
from localcluster.kinds.kinds import ServedKind
from localcluster.kinds.traits import orphans_by_default
from localcluster.store import namespaces, pods
from localcluster.store.ledger import Version

ORPHAN_FINALIZER = "orphan"
FOREGROUND_FINALIZER = "foregroundDeletion"
_GC_FINALIZERS = (ORPHAN_FINALIZER, FOREGROUND_FINALIZER)


class DeletionPropagation(StrEnum):
    """What becomes of the objects that the deleted one owns."""

    ORPHAN = "Orphan"
    BACKGROUND = "Background"
    FOREGROUND = "Foreground"


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """What a client says about a deletion."""

    propagation: DeletionPropagation | None = None
    grace_seconds: int | None = None
    uid: str | None = None
    resource_version: str | None = None
    dry_run: bool = False
    reports_waiting: bool = False
    """Whether a deletion that has to wait is answered with 202: an old client's orphanDependents=false."""


@dataclass(frozen=True, slots=True)
class Deletion:
    """The outcome: the last version, and whether the object is gone or only marked."""

    version: Version
    is_gone: bool


def plan_deletion(kind: ServedKind, old: Version, options: DeleteOptions, now: datetime) -> Obj | None:
    """Return the marked object, the same object if it is marked already, or None if it can go at once."""
    meta = old.obj["metadata"]
    _refuse_broken_preconditions(kind, old, options)
    if namespaces.is_namespace(kind):
        namespaces.refuse_if_immortal(kind, old.key[1])
        return _marked_namespace(old.obj, now)
    finalizers = _finalizers_for(kind, meta.get("finalizers", []), options.propagation)
    grace = pods.grace_seconds(old.obj, options.grace_seconds) if pods.is_pod(kind) else 0
    if meta.get("deletionTimestamp"):
        return _marked_again(old.obj, finalizers, grace, now)
    if not finalizers and not grace:
        return None
    marked = {**meta, "deletionTimestamp": rfc3339(now + timedelta(seconds=grace)), "deletionGracePeriodSeconds": grace}
    if meta.get("generation"):
        marked["generation"] = meta["generation"] + 1
    return {**old.obj, "metadata": _with_finalizers(marked, finalizers)}


def _marked_again(obj: Obj, finalizers: list[str], grace: int, now: datetime) -> Obj | None:
    """Return an object that was marked before: later calls may only shorten its grace or change who collects it."""
    meta = obj["metadata"]
    remaining = meta.get("deletionGracePeriodSeconds", 0)
    shortened = grace < remaining
    if not finalizers and (shortened or not remaining) and not grace:
        return None
    if not shortened and finalizers == meta.get("finalizers", []):
        return obj
    marked = {**meta}
    if shortened:
        marked["deletionTimestamp"] = rfc3339(now + timedelta(seconds=grace))
        marked["deletionGracePeriodSeconds"] = grace
    return {**obj, "metadata": _with_finalizers(marked, finalizers)}


def _with_finalizers(meta: Obj, finalizers: list[str]) -> Obj:
    if finalizers:
        meta["finalizers"] = finalizers
    else:
        meta.pop("finalizers", None)
    return meta


def _marked_namespace(obj: Obj, now: datetime) -> Obj | None:
    meta = obj["metadata"]
    if meta.get("deletionTimestamp"):
        return obj
    if not obj.get("spec", {}).get("finalizers") and not meta.get("finalizers"):
        return None
    marked = {**meta, "deletionTimestamp": rfc3339(now)}
    return {**obj, "metadata": marked, "status": {**obj.get("status", {}), "phase": "Terminating"}}


def _finalizers_for(kind: ServedKind, present: list[str], propagation: DeletionPropagation | None) -> list[str]:
    kept = [finalizer for finalizer in present if finalizer not in _GC_FINALIZERS]
    match propagation:
        case DeletionPropagation.ORPHAN:
            return [*kept, ORPHAN_FINALIZER]
        case DeletionPropagation.FOREGROUND:
            return [*kept, FOREGROUND_FINALIZER]
        case DeletionPropagation.BACKGROUND:
            return kept
        case None:
            if any(finalizer in present for finalizer in _GC_FINALIZERS):
                return present
            return [*kept, ORPHAN_FINALIZER] if orphans_by_default(kind) else kept
        case _:
            assert_never(propagation)


def _refuse_broken_preconditions(kind: ServedKind, old: Version, options: DeleteOptions) -> None:
    uid = old.obj["metadata"]["uid"]
    if options.uid is not None and options.uid != uid:
        why = (
            f"the UID in the precondition ({options.uid}) does not match the UID in record ({uid}). "
            "The object might have been deleted and then recreated"
        )
        raise conflict(kind, old.key[1], why, kind.kind)
    if options.resource_version is not None and options.resource_version != str(old.revision):
        why = (
            f"the ResourceVersion in the precondition ({options.resource_version}) does not match the ResourceVersion "
            f"in record ({old.revision}). The object might have been modified"
        )
        raise conflict(kind, old.key[1], why, kind.kind)
