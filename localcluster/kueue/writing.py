"""Writes to a store, fenced by the version that they were decided on.

A write that comes too late is dropped: whatever overtook it makes its controller reconcile again. Any other refusal is
logged, because it means that the stand-in and the API server disagree. Kueue applies the status of Workloads
server-side, so a field of it that another manager wrote too stays when Kueue leaves it out.
"""

import logging
from collections.abc import Callable
from typing import Any, Final

from config.api.meta import Obj
from config.names import KUEUE_GROUP
from engine.reporting.status_writes import StatusWrite
from localcluster.kinds.api_errors import ApiError
from localcluster.kinds.kinds import ServedKind
from localcluster.store.patch import merge_patch
from localcluster.store.store import Store
from localcluster.store.write_options import WriteOptions

_LOG: Final = logging.getLogger(__name__)
_OPTIONS: Final = WriteOptions(manager="kueue")
_OVERTAKEN: Final = (404, 409)


class Writer:
    """Writes as Kueue's controllers."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._workloads = store.kind("workloads", KUEUE_GROUP)

    def write(self, change: StatusWrite) -> bool:
        """Write the status of a Workload; return whether it is there now."""
        name, namespace = change.key.name, change.key.namespace
        patch = change.merge_patch()
        return self._change(
            self._workloads, name, namespace, lambda stored: merge_patch(stored, _kept(stored, patch)), "status"
        )

    def patch(self, kind: ServedKind, seen: Obj, patch: dict[str, Any], subresource: str = "") -> bool:
        """Lay a merge patch over an object if it is still as it was seen; return whether it was."""
        metadata = seen["metadata"]
        fence = {"resourceVersion": metadata["resourceVersion"]}
        fenced = {**patch, "metadata": {**patch.get("metadata", {}), **fence}}
        name, namespace = metadata["name"], metadata.get("namespace", "")
        return self._change(kind, name, namespace, lambda stored: merge_patch(stored, fenced), subresource)

    def create(self, kind: ServedKind, obj: Obj, namespace: str) -> bool:
        """Create an object; return whether it is there now."""
        try:
            self._store.create(kind, obj, namespace, _OPTIONS)
        except ApiError as error:
            _report(error)
            return False
        return True

    def _change(
        self, kind: ServedKind, name: str, namespace: str, change: Callable[[Obj], Obj], subresource: str
    ) -> bool:
        try:
            self._store.patch(kind, name, change, namespace, subresource=subresource, options=_OPTIONS)
        except ApiError as error:
            _report(error)
            return False
        return True


def _kept(stored: Obj, patch: Obj) -> Obj:
    """Return the patch without the removal of what another manager wrote."""
    others: set[str] = set()
    for entry in stored["metadata"].get("managedFields", ()):
        if entry.get("manager") != _OPTIONS.manager:
            others |= entry.get("fieldsV1", {}).get("f:status", {}).keys()
    status = {name: value for name, value in patch["status"].items() if value is not None or f"f:{name}" not in others}
    return {**patch, "status": status}


def _report(error: ApiError) -> None:
    if error.code not in _OVERTAKEN:
        _LOG.warning("write.refused: %s", error.message)
