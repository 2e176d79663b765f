"""What is special about pods: they die slowly once they run somewhere, and a binding gives them their node."""

from config.api.meta import Obj
from localcluster.kinds.api_errors import bad_request, conflict
from localcluster.kinds.kinds import ServedKind

_DEFAULT_GRACE_SECONDS = 30
_BINDING = "pods/binding"
_ENDED = ("Succeeded", "Failed")


def is_pod(kind: ServedKind) -> bool:
    """Return whether the kind is the core Pod."""
    return kind.plural == "pods" and kind.group == ""


def grace_seconds(pod: Obj, asked: int | None) -> int:
    """Return how long the pod may take to end: a pod that runs nowhere has nothing to wait for."""
    spec = pod.get("spec", {})
    if not spec.get("nodeName") or pod.get("status", {}).get("phase") in _ENDED:
        return 0
    seconds = asked if asked is not None else spec.get("terminationGracePeriodSeconds", _DEFAULT_GRACE_SECONDS)
    return 1 if seconds < 0 else int(seconds)


def bound(kind: ServedKind, pod: Obj, binding: Obj, time: str) -> Obj:
    """Return the pod assigned to the binding's node, or refuse."""
    target = binding.get("target") or {}
    node = target.get("name") if isinstance(target, dict) else None
    name = pod["metadata"]["name"]
    if not node:
        raise bad_request("target.name is required")
    if target.get("kind", "Node") not in ("", "Node"):
        raise bad_request("target.kind must be Node")
    if pod["metadata"].get("deletionTimestamp"):
        raise conflict(kind, name, f"pod {name} is being deleted, cannot be assigned to a host", _BINDING)
    if current := pod["spec"].get("nodeName"):
        raise conflict(kind, name, f'pod {name} is already assigned to node "{current}"', _BINDING)
    status = pod.get("status", {})
    scheduled = {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": time}
    others = [each for each in status.get("conditions", []) if each.get("type") != "PodScheduled"]
    return {
        **pod,
        "spec": {**pod["spec"], "nodeName": node},
        "status": {**status, "conditions": [*others, scheduled]},
    }
