"""What an honest worker would answer, as JSON, and what becomes of it when it is tampered with."""

from copy import deepcopy
from random import Random
from typing import Any, Final

from config.names import MULTIKUEUE_NAME, ORIGIN_LABEL
from gates.jobs.kinds import SHIPPED
from manager.base.kinds import CONFIG_MAPS, WORKLOADS, api_kind
from manager.models import model_watches, pod_observation
from tests.integration.orchestrator.kueue import job, workload
from tests.support.builders import admission_check, cluster, cluster_queue, limit_range, local_queue, namespace
from tests.support.builders import workload as build_workload
from tests.support.gate_schema import GATED_SCHEMA
from tests.support.pod_builders import node, pod
from workerclient.base.kind import ApiKind

ORIGIN: Final = "hub-under-test"
KINDS: Final = {
    kind.collection_path(): kind
    for kind in (
        CONFIG_MAPS,
        WORKLOADS,
        *map(api_kind, SHIPPED),
        *model_watches.FOLLOWED_KINDS,
        *pod_observation.FOLLOWED_KINDS,
    )
}
TIME: Final = "2025-06-15T15:06:40Z"


def _replica() -> dict[str, Any]:
    made = workload("wl")
    made["metadata"]["annotations"] = {"a": "b"}
    made["spec"]["preemptionGates"] = [{"name": MULTIKUEUE_NAME}]
    condition = {"status": "True", "reason": "r", "message": "m", "lastTransitionTime": TIME}
    flavors = {"name": "main", "flavors": {"cpu": "f"}, "resourceUsage": {"cpu": "1"}, "count": 1}
    made["status"] = {
        "conditions": [{"type": name, **condition} for name in ("QuotaReserved", "Admitted", "Evicted", "Finished")],
        "preemptionGates": [{"name": MULTIKUEUE_NAME, "position": "Open", "lastTransitionTime": TIME}],
        "admission": {"clusterQueue": "main", "podSetAssignments": [flavors]},
    }
    return made


_OBJECTS: Final[tuple[dict[str, Any], ...]] = (
    _replica(),
    job(),
    node("n1"),
    pod("p1"),
    *cluster(
        namespace("team", a="b"),
        cluster_queue("main").quota("f", cpu=4).preemption(within="LowerPriority"),
        local_queue("main", "main"),
        limit_range(cpu=1),
        admission_check("check"),
        build_workload("low").queue("main").priority(1).request(cpu=1),
    ),
)
_ODD: Final[tuple[Any, ...]] = (
    *(None, True, False, 0, -1, 1, 2**63, -(2**63), 1.5, 1e300, "", "x", "\u2028\x00\x1b[2J", "x" * 5000, [], {}, [[]]),
    *([None], [1, "a"], {"": ""}, {"a": {"b": []}}, "2025-13-45T99:99:99Z", "9" * 40, "-1", "1Ti", "1e400", "NaN"),
    *(["x"] * 300, {str(number): number for number in range(300)}, 2**64 - 1, "../../x?a=b#c", "true", "None"),
)


def object_of(kind: ApiKind, rng: Random, version: int) -> dict[str, Any]:
    """Return an object of a kind, one that there could be."""
    fitting = [each for each in _OBJECTS if each["kind"] == kind.kind]
    made = deepcopy(rng.choice(fitting)) if fitting else {"spec": {}, "status": {}}
    metadata = made.setdefault("metadata", {})
    name = f"n{rng.randrange(4)}"
    metadata |= {"name": name, "uid": f"u-{name}", "resourceVersion": str(version), "creationTimestamp": TIME}
    metadata.setdefault("labels", {})[ORIGIN_LABEL] = ORIGIN
    if kind.namespaced:
        metadata["namespace"] = "team"
    return {**made, "apiVersion": kind.api_version, "kind": kind.kind}


def list_of(kind: ApiKind, rng: Random, version: int) -> dict[str, Any]:
    """Return a part of a list."""
    metadata = {"resourceVersion": str(version), **({"continue": f"t{version}"} if rng.random() < 0.1 else {})}
    items = [object_of(kind, rng, version) for _ in range(rng.randrange(4))]
    return {"apiVersion": kind.api_version, "kind": f"{kind.kind}List", "metadata": metadata, "items": items}


def event_of(kind: ApiKind, rng: Random, version: int) -> dict[str, Any]:
    """Return a watch event."""
    told = rng.choice(("ADDED", "MODIFIED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"))
    if told == "ERROR":
        return {"type": told, "object": status_of(rng)}
    return {"type": told, "object": object_of(kind, rng, version)}


def status_of(rng: Random) -> dict[str, Any]:
    """Return a Status."""
    code = rng.choice((400, 401, 403, 404, 409, 410, 422, 429, 500, 503, 504))
    details = {"name": "n1", "kind": "workloads", "retryAfterSeconds": rng.choice((0, 1, 10**9))}
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "message": "no",
        "reason": "Expired",
        "code": code,
        "details": details,
    }


def document_of(path: str, rng: Random) -> dict[str, Any]:
    """Return what stands under a path that is no collection: descriptions, reviews, versions."""
    if path.startswith("/openapi"):
        return deepcopy(GATED_SCHEMA)
    if path == "/version":
        return {"gitVersion": "v1.36.3"}
    if path.endswith("rulesreviews"):
        rules = [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}] if rng.random() < 0.5 else []
        return {"kind": "Review", "status": {"resourceRules": rules, "allowed": True}}
    if path.endswith("reviews"):
        user = {"username": "u", "uid": "1", "groups": ["g"], "extra": {"a": ["b"]}}
        return {"kind": "Review", "status": {"allowed": True, "authenticated": True, "user": user, "audiences": ["a"]}}
    if path.count("/") == 2:
        return {"kind": "APIGroup", "versions": [{"version": "v1beta2"}]}
    return {"kind": "APIResourceList", "resources": [{"name": "workloads"}]}


def tampered(document: Any, rng: Random) -> Any:
    """Return the document with something odd at one place: instead of a value, or beside it."""
    changed = deepcopy(document)
    inner = changed
    while True:
        names = list(inner) if isinstance(inner, dict) else list(range(len(inner)))
        if not names:
            return rng.choice(_ODD)
        name = rng.choice(names)
        if isinstance(inner[name], dict | list) and rng.random() < 0.8:
            inner = inner[name]
            continue
        match rng.randrange(5):
            case 0:
                del inner[name]
            case 1 if isinstance(inner, dict):
                inner[rng.choice(("", "name", "metadata", "x" * 2000))] = rng.choice(_ODD)
            case 2:
                inner[name] = [inner[name]] * rng.choice((1, 2, 700))
            case _:
                inner[name] = rng.choice(_ODD)
        return changed
