"""The life of namespaces: what a new one gets, who may create in one, and which may not go.

A namespace that is being deleted is emptied by `localcluster.store.gc`, which then removes the finalizer set here.
"""

from config.api.meta import Obj
from localcluster.kinds.api_errors import ApiError, forbidden
from localcluster.kinds.kinds import ServedKind
from localcluster.store.ledger import Collection

NAMESPACES = "namespaces"
COLLECTION = "namespaces/v1"
FINALIZER = "kubernetes"
_IMMORTAL = frozenset({"default", "kube-system", "kube-public"})
INITIAL = ("default", "kube-system", "kube-public", "kube-node-lease")


def is_namespace(kind: ServedKind) -> bool:
    """Return whether the kind is the core Namespace."""
    return kind.plural == NAMESPACES and kind.group == ""


def label_namespace(obj: Obj) -> None:
    """Keep the label by which selectors find a namespace by its name."""
    meta = obj["metadata"]
    if meta.get("name"):
        meta["labels"] = {**meta.get("labels", {}), "kubernetes.io/metadata.name": meta["name"]}


def open_namespace(obj: Obj) -> None:
    """Give a new namespace its finalizer and its phase, which have no owner."""
    spec = obj.setdefault("spec", {})
    if FINALIZER not in spec.setdefault("finalizers", []):
        spec["finalizers"].append(FINALIZER)
    obj["status"] = {"phase": "Active"}


def keep_open(new: Obj, old: Obj) -> None:
    """Take spec.finalizers from the stored namespace: only /finalize may change them. Keep the label."""
    label_namespace(new)
    spec = {**(new.get("spec") or {})}
    spec.pop("finalizers", None)
    if "finalizers" in old.get("spec", {}):
        spec["finalizers"] = old["spec"]["finalizers"]
    new["spec"] = spec


def refuse_if_immortal(kind: ServedKind, name: str) -> None:
    """Refuse to delete the namespaces that a cluster cannot be without."""
    if name in _IMMORTAL:
        raise forbidden(kind, name, "this namespace may not be deleted")


def refuse_if_closed(namespaces: Collection, kind: ServedKind, namespace: str, name: str) -> None:
    """Refuse to create in a namespace that does not exist or is going away."""
    found = namespaces.get(("", namespace))
    if found is None:
        raise ApiError(
            404, "NotFound", f'namespaces "{namespace}" not found', details={"name": namespace, "kind": NAMESPACES}
        )
    if found.obj["metadata"].get("deletionTimestamp"):
        cause = {
            "reason": "NamespaceTerminating",
            "message": f"namespace {namespace} is being terminated",
            "field": "metadata.namespace",
        }
        why = f"unable to create new content in namespace {namespace} because it is being terminated"
        raise forbidden(kind, name, why, [cause])
