"""How important a Job is: its WorkloadPriorityClass, else the PriorityClass of its pods, else the cluster's default."""

from typing import Any, Final

from config.api.meta import Obj
from engine.cycles.object_events import WorkloadPhase
from localcluster.catalogue.kueue_kinds.vocabulary import GROUP
from localcluster.store.store import Store

PRIORITY_CLASS_LABEL: Final = f"{GROUP}/priority-class"
CLASS_KINDS: Final = (("workloadpriorityclasses", GROUP), ("priorityclasses", "scheduling.k8s.io"))


def priority_fields(store: Store, job: Obj) -> dict[str, Any] | None:
    """Return the fields of the Workload's spec, None while a class that the Job names does not exist."""
    labels = job["metadata"].get("labels") or {}
    if name := labels.get(PRIORITY_CLASS_LABEL):
        return _from_class(store, CLASS_KINDS[0], name)
    if name := (job["spec"]["template"].get("spec") or {}).get("priorityClassName"):
        return _from_class(store, CLASS_KINDS[1], name)
    plural, group = CLASS_KINDS[1]
    for each in store.list(store.kind(plural, group)):
        if each.get("globalDefault"):
            return _from_class(store, CLASS_KINDS[1], each["metadata"]["name"])
    return {"priority": 0}


def changed_priority(store: Store, job: Obj, workload: Obj) -> dict[str, Any] | None:
    """Return the fields of a Workload's spec that follow a Job's new WorkloadPriorityClass, None if it is the old one.

    A Workload whose priority comes from its pods does not follow, nor does one that reserved quota without any class.
    """
    name = (job["metadata"].get("labels") or {}).get(PRIORITY_CLASS_LABEL)
    present = workload["spec"].get("priorityClassRef")
    if not name or (present or {}).get("name") == name:
        return None
    if (present is None and WorkloadPhase.of(workload).holds_quota) or (present or {}).get("group", GROUP) != GROUP:
        return None
    return _from_class(store, CLASS_KINDS[0], name)


def _from_class(store: Store, resource: tuple[str, str], name: str) -> dict[str, Any] | None:
    kind = store.kind(*resource)
    found = store.collection(kind).get(("", name))
    if found is None:
        return None
    reference = {"group": kind.group, "kind": kind.kind, "name": name}
    return {"priority": found.obj["value"], "priorityClassRef": reference}
