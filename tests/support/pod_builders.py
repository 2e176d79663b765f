"""Raw nodes, pods, PodGroups and budgets for tests, in the short notation that the scenarios are written in.

Amounts of cpu are whole cores, memory is ample unless said, and times are minutes after START.
"""

from typing import Any

from tests.support.builders import Json, at

NAMESPACE = "default"
ROOMY = "1000Gi"


def node(name: str, cpu: int | str = 4, **allocatable: int | str) -> Json:
    """A node; further resources of it by keyword, `/` written as `__`."""
    room: Json = {"cpu": cpu, "memory": ROOMY, "pods": 110}
    room.update({_resource(key): value for key, value in allocatable.items()})
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "spec": {},
        "status": {"allocatable": room},
    }


def tainted(raw: Json, effect: str = "NoSchedule", key: str = "dedicated") -> Json:
    """The node with a taint."""
    return {**raw, "spec": {**raw["spec"], "taints": [{"key": key, "effect": effect}]}}


def cordoned(raw: Json) -> Json:
    """The node, closed to new pods."""
    return {**raw, "spec": {**raw["spec"], "unschedulable": True}}


def pod(
    name: str,
    cpu: int | None = None,
    priority: int = 0,
    *,
    on: str = "",
    group: str = "",
    started: float | None = 0,
    app: str = "",
    only: str = "",
    namespace: str = NAMESPACE,
    requests: Json | None = None,
    spec: Json | None = None,
    status: Json | None = None,
    metadata: Json | None = None,
) -> Json:
    """A pod, bound when `on` names a node; `only` restricts it to a node, `app` is a label for budgets."""
    asked = dict(requests or {})
    if cpu is not None:
        asked["cpu"] = cpu
    body: Json = {"priority": priority, "containers": [{"name": "c", "resources": {"requests": asked}}]}
    state: Json = {"phase": "Running" if on else "Pending"}
    if on:
        body["nodeName"] = on
        if started is not None:
            state["startTime"] = at(started)
    if group:
        body["schedulingGroup"] = {"podGroupName": group}
    if only:
        body["nodeSelector"] = {"kubernetes.io/hostname": only}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {"app": app} if app else {},
            **(metadata or {}),
        },
        "spec": {**body, **(spec or {})},
        "status": {**state, **(status or {})},
    }


def terminating(raw: Json, *, by_scheduler: bool = False) -> Json:
    """The pod on its way out, told to go by the scheduler or by another client."""
    target = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
    return {
        **raw,
        "metadata": {**raw["metadata"], "deletionTimestamp": at(1)},
        "status": {**raw["status"], "conditions": [target] if by_scheduler else []},
    }


def group(
    name: str,
    priority: int,
    *,
    minimum: int | None = 1,
    mode: Any = None,
    namespace: str = NAMESPACE,
    spec: Json | None = None,
) -> Json:
    """A PodGroup: a gang of `minimum` pods, or with the basic policy when that is None; `mode` is `all` or `single`."""
    policy: Json = {"basic": {}} if minimum is None else {"gang": {"minCount": minimum}}
    body: Json = {"schedulingPolicy": policy, "priority": priority}
    if mode is not None:
        body["disruptionMode"] = {mode: {}} if mode in ("all", "single") else mode
    return {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {**body, **(spec or {})},
    }


def budget(
    app: str, allowed: int = 0, *, namespace: str = NAMESPACE, disrupted: tuple[str, ...] = (), selector: Any = None
) -> Json:
    """A PodDisruptionBudget of the pods with this label."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": f"{app or 'empty'}-budget", "namespace": namespace},
        "spec": {"selector": {"matchLabels": {"app": app}} if selector is None else selector},
        "status": {"disruptionsAllowed": allowed, "disruptedPods": {name: at(0) for name in disrupted}},
    }


def gang(name: str, priority: int, *members: Json, minimum: int | None = -1) -> list[Json]:
    """A pending group and its pods; all of them must find room unless `minimum` says otherwise."""
    count = len(members) if minimum == -1 else minimum
    return [group(name, priority, minimum=count), *members]


def _resource(key: str) -> str:
    return key.replace("__", "/").replace("_", "-")
