"""Answers of `/v1/top` for tests of the view."""

from typing import Any

Obj = dict[str, Any]
NOW = "2027-01-15T08:00:00Z"
NOW_NS = 1_800_000_000 * 10**9


def quota(used: str = "6", nominal: str = "8", share: float | None = 0.75, resource: str = "cpu") -> Obj:
    return {"resource": resource, "nominal": nominal, "used": used, "share": share}


def followed(*resources: Obj) -> Obj:
    return {"state": "Followed", "message": "", "clusterQueues": 1, "resources": list(resources)}


def unfollowed(state: str, message: str = "") -> Obj:
    return {"state": state, "message": message, "clusterQueues": None, "resources": []}


def worker(name: str = "east", **fields: Any) -> Obj:
    return {
        "name": name,
        "connection": "Connected",
        "message": "Connected",
        "replicas": 2,
        "forecast": "reliable",
        "hitRate": None,
        "gates": {"state": "Honoured", "gatesUnsupported": "sequential"},
        "quota": followed(quota()),
        **fields,
    }


def lane(name: str = "east", state: str = "Pending", gate: str = "Closed", **fields: Any) -> Obj:
    base = {"worker": name, "state": state, "gate": gate, "asksSince": "", "opened": "", "windowEnds": ""}
    return {**base, "won": False, "verdict": "", "victims": None, **fields}


def workload(name: str = "training", *lanes: Obj, **fields: Any) -> Obj:
    return {
        "namespace": "team",
        "name": name,
        "phase": "Pending",
        "created": "2027-01-15T07:59:30Z",
        "queue": "main",
        "message": "Pending on east",
        "priority": 100,
        "lanes": list(lanes),
        "moreLanes": 0,
        **fields,
    }


def decision(event: str = "GateOpened", **fields: Any) -> Obj:
    base = {"time": "2027-01-15T07:59:58.000000Z", "namespace": "team", "name": "training", "event": event}
    return {**base, "worker": "east", "message": "LeastDisruption; no other worker asked", **fields}


def fleet(*workloads: Obj, workers: list[Obj] | None = None, more: int = 0, **daemon: Any) -> Obj:
    base = {"version": "0.1.0", "origin": "hub-a", "acts": True, "hub": "Connected", "leader": "", "isShadow": False}
    return {
        "now": NOW,
        "daemon": {**base, "policy": "LeastDisruption", **daemon},
        "workers": {"items": [worker()] if workers is None else workers, "more": 0},
        "workloads": {
            "items": list(workloads),
            "more": more,
            "phases": {"Pending": len(workloads) + more},
            "order": "queue",
        },
        "decisions": {"items": [decision()]},
    }
