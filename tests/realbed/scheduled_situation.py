"""A situation on a real API server: objects go in, the kubelet's part is played, what the scheduler did comes out."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from tests.realbed.scheduler_bed import POD_GROUP_VERSIONS, ControlPlane
from tests.support.builders import Json
from tests.support.pod_builders import pod
from tests.support.pod_situations import Situation

MERGE = "application/merge-patch+json"
NAMESPACES = ("default", "other")
MARKER_NAMESPACE, MARKER = "marker", "marker"
_LOWEST_PRIORITY = -(2**31)


class Stage:
    """The objects of one situation at a time."""

    def __init__(self, plane: ControlPlane) -> None:
        """Work on an empty cluster."""
        self._plane = plane
        self._groups = f"/apis/{POD_GROUP_VERSIONS[plane.release.minor]}"

    def prepare(self) -> None:
        """Create the namespaces that situations use."""
        for name in (*NAMESPACES[1:], MARKER_NAMESPACE):
            self._must("POST", "/api/v1/namespaces", {"metadata": {"name": name}})

    def set_up(self, situation: Situation) -> None:
        """Create everything: pending pods last and in their order, then a pod of no group that is tried last."""
        for raw in situation.nodes:
            self._must("POST", "/api/v1/nodes", raw)
        for raw in situation.groups:
            self._must("POST", f"{self._groups}/namespaces/{_namespace(raw)}/podgroups", self._as_served(raw))
        for raw in situation.budgets:
            path = f"/apis/policy/v1/namespaces/{_namespace(raw)}/poddisruptionbudgets"
            self._must("POST", path, raw)
            self._must("PATCH", f"{path}/{_name(raw)}/status", {"status": raw["status"]}, MERGE)
        for raw in sorted(situation.pods, key=lambda raw: not raw["spec"].get("nodeName")):
            self._create_pod(raw)
        lost = pod(MARKER, 1, _LOWEST_PRIORITY, namespace=MARKER_NAMESPACE, spec={"nodeSelector": {"there-is": "none"}})
        self._create_pod(lost)

    def end_terminating_pods(self) -> None:
        """Play the kubelet: pods that were told to go are gone."""
        for raw in self._pods():
            if raw["metadata"].get("deletionTimestamp"):
                self._delete(f"/api/v1/namespaces/{_namespace(raw)}/pods/{_name(raw)}?gracePeriodSeconds=0")

    def forget_verdicts(self) -> None:
        """Take back what pending pods were told, for the next look."""
        for raw in self._must("GET", "/api/v1/pods")["items"]:
            if not raw["spec"].get("nodeName"):
                path = f"/api/v1/namespaces/{_namespace(raw)}/pods/{_name(raw)}/status"
                self._must("PATCH", path, {"status": {"conditions": None}}, MERGE)

    def tear_down(self) -> None:
        """Remove everything; no controller lets go of a group that has no pods left."""
        for raw in self._must("GET", f"{self._groups}/podgroups")["items"]:
            path = f"{self._groups}/namespaces/{_namespace(raw)}/podgroups/{_name(raw)}"
            self._must("PATCH", path, {"metadata": {"finalizers": None}}, MERGE)
        for namespace in (*NAMESPACES, MARKER_NAMESPACE):
            self._delete(f"/api/v1/namespaces/{namespace}/pods?gracePeriodSeconds=0")
            self._delete(f"/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets")
            self._delete(f"{self._groups}/namespaces/{namespace}/podgroups")
        self._delete("/api/v1/nodes")

    def objects(self) -> list[Json]:
        """Return all objects as the server has them, but for the marker."""
        served = {
            "Node": "/api/v1/nodes",
            "PodGroup": f"{self._groups}/podgroups",
            "PodDisruptionBudget": "/apis/policy/v1/poddisruptionbudgets",
        }
        found = [{**raw, "kind": kind} for kind, path in served.items() for raw in self._must("GET", path)["items"]]
        return [*found, *({**raw, "kind": "Pod"} for raw in self._pods())]

    def has_marker_verdict(self) -> bool:
        """Return whether the pod of the lowest priority was tried, and so all others."""
        raw = self._must("GET", f"/api/v1/namespaces/{MARKER_NAMESPACE}/pods/{MARKER}")
        return _has_verdict(raw)

    def outcome(self, before: list[Json]) -> Json:
        """Return what has happened since: who was told to go, and where pending pods are bound or expected."""
        earlier = {_key(raw): raw for raw in before if raw["kind"] == "Pod"}
        now = {_key(raw): raw for raw in self._pods()}
        victims = sorted(key for key, raw in earlier.items() if not _is_leaving(raw) and _is_leaving(now.get(key)))
        waiting = {key: now[key] for key, raw in earlier.items() if not raw["spec"].get("nodeName") and key in now}
        bound = {key: raw["spec"]["nodeName"] for key, raw in waiting.items() if raw["spec"].get("nodeName")}
        hopes = {
            key: raw["status"]["nominatedNodeName"]
            for key, raw in waiting.items()
            if key not in bound and raw["status"].get("nominatedNodeName")
        }
        return {"victims": victims, "bound": bound, "nominated": {} if bound else hopes}

    def has_verdicts(self, before: list[Json]) -> bool:
        """Return whether every pod that waited is bound or has the reason why not."""
        now = {_key(raw): raw for raw in self._pods()}
        waiting = [_key(raw) for raw in before if raw["kind"] == "Pod" and not raw["spec"].get("nodeName")]
        return all(now[key]["spec"].get("nodeName") or _has_verdict(now[key]) for key in waiting)

    def _create_pod(self, raw: Json) -> None:
        path = f"/api/v1/namespaces/{_namespace(raw)}/pods"
        self._must("POST", path, _complete(raw))
        status = {
            key: raw["status"][key]
            for key in ("phase", "startTime", "conditions", "nominatedNodeName")
            if key in raw["status"]
        }
        self._must("PATCH", f"{path}/{_name(raw)}/status", {"status": status}, MERGE)
        if raw["metadata"].get("deletionTimestamp"):
            self._delete(f"{path}/{_name(raw)}?gracePeriodSeconds=3600")

    def _as_served(self, raw: Json) -> Json:
        group = deepcopy(raw)
        group["apiVersion"] = POD_GROUP_VERSIONS[self._plane.release.minor]
        mode = group["spec"].get("disruptionMode")
        if self._plane.release.minor == "1.36" and isinstance(mode, dict):
            group["spec"]["disruptionMode"] = "PodGroup" if "all" in mode else "Pod"
        return group

    def _pods(self) -> Iterator[Json]:
        for raw in self._must("GET", "/api/v1/pods")["items"]:
            if _namespace(raw) != MARKER_NAMESPACE:
                yield raw

    def _must(self, method: str, path: str, body: Json | None = None, content_type: str = "application/json") -> Json:
        status, answer = self._plane.call(method, path, body, content_type)
        if status not in (200, 201):
            raise AssertionError(f"{method} {path}: {status} {answer.get('message')}")
        return answer

    def _delete(self, path: str) -> None:
        status, answer = self._plane.call("DELETE", path)
        if status not in (200, 202, 404):
            raise AssertionError(f"DELETE {path}: {status} {answer.get('message')}")


def _complete(raw: Json) -> Json:
    """Return the pod with what validation asks for; extended resources must be limited as they are requested."""
    made = deepcopy(raw)
    made["metadata"].pop("deletionTimestamp", None)
    for container in made["spec"]["containers"]:
        container["image"] = "none"
        requests: dict[str, Any] = container["resources"].get("requests") or {}
        limited = {name: amount for name, amount in requests.items() if "/" in name}
        if limited:
            container["resources"]["limits"] = limited
    return made


def _is_leaving(raw: Json | None) -> bool:
    return raw is None or bool(raw["metadata"].get("deletionTimestamp"))


def _has_verdict(raw: Json) -> bool:
    return any(condition["type"] == "PodScheduled" for condition in raw["status"].get("conditions") or ())


def _namespace(raw: Json) -> str:
    return str(raw["metadata"].get("namespace") or "default")


def _name(raw: Json) -> str:
    return str(raw["metadata"]["name"])


def _key(raw: Json) -> str:
    return f"{_namespace(raw)}/{_name(raw)}"
