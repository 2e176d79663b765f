"""Objects of a real cluster, as plain documents: created, applied and waited for by an administrator."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from tests.realbed.apiserver import ApiServer
from tests.realbed.processes import wait_until

Obj = dict[str, Any]

_APPLY = "application/apply-patch+yaml"
_MANAGER = "realbed"
_ACCEPTED_SECONDS = 60.0
_CLUSTER_WIDE = {
    "AdmissionCheck",
    "ClusterQueue",
    "ClusterRole",
    "ClusterRoleBinding",
    "Cohort",
    "MultiKueueCluster",
    "MultiKueueConfig",
    "MutatingWebhookConfiguration",
    "Namespace",
    "Node",
    "ResourceFlavor",
    "ValidatingWebhookConfiguration",
    "WorkloadPriorityClass",
}


def documents(path: Path) -> list[Obj]:
    """Read the documents of a manifest file."""
    return [each for each in yaml.load_all(path.read_bytes(), yaml.CSafeLoader) if each]


def path_of(obj: Obj, subresource: str = "") -> str:
    """Return where an object is served."""
    version, kind, metadata = obj["apiVersion"], obj["kind"], obj["metadata"]
    base = f"/apis/{version}" if "/" in version else f"/api/{version}"
    scope = "" if kind in _CLUSTER_WIDE else f"/namespaces/{metadata.get('namespace', 'default')}"
    path = f"{base}{scope}/{_plural(kind)}/{metadata['name']}"
    return f"{path}/{subresource}" if subresource else path


def apply(server: ApiServer, objects: Iterable[Obj], *, subresource: str = "") -> None:
    """Apply objects one after the other; a refusal that passes by itself, as while a webhook comes up, is outwaited."""
    for obj in objects:
        _apply_one(server, obj, subresource)


def _apply_one(server: ApiServer, obj: Obj, subresource: str) -> None:
    path = f"{path_of(obj, subresource)}?fieldManager={_MANAGER}&force=true"
    last: tuple[int, Any] = (0, "")

    def accepted() -> bool:
        nonlocal last
        status, reply = server.call("PATCH", path, obj, content_type=_APPLY)
        last = status, reply.get("message", "")
        return status in (200, 201)

    try:
        wait_until(accepted, seconds=_ACCEPTED_SECONDS, what=f"{obj['kind']} {obj['metadata']['name']} to be accepted")
    except TimeoutError as timeout:
        raise RuntimeError(f"{timeout}: {last[0]} {last[1]}") from None


def _plural(kind: str) -> str:
    lower = kind.lower()
    return re.sub("y$", "ie", lower) + "s" if not lower.endswith("s") else f"{lower}es"
