"""Fluent builders of raw Kueue objects, for tests; extend them rather than writing JSON by hand.

Builders never change: each call returns a new one, so that a case can say "as before, but". Times are minutes after
START, because tests speak of the order of events and rarely of dates.
"""

from collections.abc import Iterable, Mapping
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from typing import Any, Self

from config.names import KUEUE_API_VERSION

Json = dict[str, Any]
Amount = int | str

START = datetime(2026, 1, 1, tzinfo=UTC)
NAMESPACE = "ns"


def at(minute: float) -> str:
    """Return the time so many minutes after START, as Kubernetes writes it."""
    return (START + timedelta(minutes=minute)).strftime("%Y-%m-%dT%H:%M:%SZ")


class Builder:
    """A raw object under construction."""

    def __init__(self, raw: Json) -> None:
        """Start from a complete raw object."""
        self.raw = raw

    @property
    def name(self) -> str:
        """The name of the object."""
        return str(self.raw["metadata"]["name"])

    def _copy(self) -> Self:
        return type(self)(deepcopy(self.raw))

    def with_spec(self, **fields: Any) -> Self:
        """Set fields of the spec by their API names."""
        changed = self._copy()
        changed.raw.setdefault("spec", {}).update(fields)
        return changed

    def with_metadata(self, **fields: Any) -> Self:
        """Set fields of the metadata by their API names."""
        changed = self._copy()
        changed.raw["metadata"].update(fields)
        return changed

    def annotate(self, key: str, value: str) -> Self:
        """Set one annotation."""
        return self.with_metadata(annotations={**self.raw["metadata"].get("annotations", {}), key: value})


def _object(kind: str, name: str, spec: Json | None = None, **metadata: Any) -> Json:
    return {"apiVersion": KUEUE_API_VERSION, "kind": kind, "metadata": {"name": name, **metadata}, "spec": spec or {}}


class QuotaBuilder(Builder):
    """What ClusterQueues and Cohorts have in common."""

    def group(self) -> Self:
        """Begin another resource group; the flavors named next belong to it."""
        changed = self._copy()
        changed.raw["spec"].setdefault("resourceGroups", []).append({"coveredResources": [], "flavors": []})
        return changed

    def quota(self, flavor: str, amounts: Mapping[str, Amount] | None = None, **more: Amount) -> Self:
        """Add a flavor with its nominal quotas to the last resource group."""
        quotas = {**(amounts or {}), **more}
        changed = self._copy() if self.raw["spec"].get("resourceGroups") else self.group()
        group = changed.raw["spec"]["resourceGroups"][-1]
        group["coveredResources"] = list(dict.fromkeys([*group["coveredResources"], *quotas]))
        resources = [{"name": name, "nominalQuota": str(amount)} for name, amount in quotas.items()]
        group["flavors"].append({"name": flavor, "resources": resources})
        return changed

    def borrowing_limit(self, flavor: str, **limits: Amount) -> Self:
        """Limit what a flavor may borrow."""
        return self._limit("borrowingLimit", flavor, limits)

    def lending_limit(self, flavor: str, **limits: Amount) -> Self:
        """Limit what a flavor lends."""
        return self._limit("lendingLimit", flavor, limits)

    def weight(self, weight: Amount) -> Self:
        """Set the weight in fair sharing."""
        return self.with_spec(fairSharing={"weight": str(weight)})

    def _limit(self, key: str, flavor: str, limits: Mapping[str, Amount]) -> Self:
        changed = self._copy()
        for group in changed.raw["spec"]["resourceGroups"]:
            for quotas in group["flavors"]:
                for resource in quotas["resources"]:
                    if quotas["name"] == flavor and resource["name"] in limits:
                        resource[key] = str(limits[resource["name"]])
        return changed


class ClusterQueueBuilder(QuotaBuilder):
    """A ClusterQueue."""

    def cohort(self, name: str) -> Self:
        """Put the ClusterQueue into a cohort."""
        return self.with_spec(cohortName=name)

    def preemption(
        self, *, within: str = "Never", reclaim: str = "Never", borrow: str = "Never", threshold: int | None = None
    ) -> Self:
        """Set the preemption policies."""
        borrow_within: Json = {"policy": borrow}
        if threshold is not None:
            borrow_within["maxPriorityThreshold"] = threshold
        return self.with_spec(
            preemption={
                "withinClusterQueue": within,
                "reclaimWithinCohort": reclaim,
                "borrowWithinCohort": borrow_within,
            }
        )

    def min_admit_duration(self, duration: str | None) -> Self:
        """Set KEP-8522's protection of equal priorities."""
        changed = self._copy()
        config = {} if duration is None else {"minAdmitDuration": duration}
        changed.raw["spec"].setdefault("preemption", {})["withinClusterQueueConfig"] = config
        return changed

    def fungibility(self, *, borrow: str = "MayStopSearch", preempt: str = "TryNextFlavor", prefer: str = "") -> Self:
        """Set when the search for a flavor goes on."""
        block = {"whenCanBorrow": borrow, "whenCanPreempt": preempt}
        return self.with_spec(flavorFungibility={**block, "preference": prefer} if prefer else block)

    def stopped(self, policy: str = "Hold") -> Self:
        """Stop the ClusterQueue."""
        return self.with_spec(stopPolicy=policy)


class CohortBuilder(QuotaBuilder):
    """A Cohort."""

    def parent(self, name: str) -> Self:
        """Put the cohort below another one."""
        return self.with_spec(parentName=name)


class FlavorBuilder(Builder):
    """A ResourceFlavor."""

    def labels(self, **labels: str) -> Self:
        """Set the labels of the flavor's nodes."""
        return self.with_spec(nodeLabels=labels)

    def taint(self, key: str, value: str, effect: str = "NoSchedule") -> Self:
        """Taint the flavor's nodes."""
        taints = self.raw["spec"].get("nodeTaints", [])
        return self.with_spec(nodeTaints=[*taints, {"key": key, "value": value, "effect": effect}])


class WorkloadBuilder(Builder):
    """A Workload with one pod set `main` of one pod, until told otherwise."""

    def queue(self, name: str) -> Self:
        """Submit to a LocalQueue; `cluster()` makes one for each ClusterQueue, of the same name."""
        return self.with_spec(queueName=name)

    def priority(self, priority: int) -> Self:
        """Set the priority."""
        return self.with_spec(priority=priority)

    def uid(self, uid: str) -> Self:
        """Set the uid."""
        return self.with_metadata(uid=uid)

    def created(self, minute: float) -> Self:
        """Set the time of creation."""
        return self.with_metadata(creationTimestamp=at(minute))

    def request(self, amounts: Mapping[str, Amount] | None = None, **more: Amount) -> Self:
        """Set what each pod of the last pod set requests."""
        requests = {name: str(amount) for name, amount in {**(amounts or {}), **more}.items()}
        changed = self._copy()
        spec = changed.raw["spec"]["podSets"][-1]["template"]["spec"]
        spec["containers"] = [{"name": "c", "resources": {"requests": requests}}]
        return changed

    def pods(self, count: int, *, at_least: int | None = None) -> Self:
        """Set the number of pods of the last pod set."""
        changed = self._copy()
        changed.raw["spec"]["podSets"][-1]["count"] = count
        if at_least is not None:
            changed.raw["spec"]["podSets"][-1]["minCount"] = at_least
        return changed

    def pod_sets(self, *names: str) -> Self:
        """Replace the pod sets by empty ones of these names; `pod_set` fills them."""
        return self.with_spec(podSets=[_pod_set(name) for name in names])

    def pod_set(self, name: str, amounts: Mapping[str, Amount] | None = None, **more: Amount) -> Self:
        """Add a pod set of one pod that requests this much."""
        changed = self._copy()
        changed.raw["spec"]["podSets"].append(_pod_set(name))
        return changed.request(amounts, **more)

    def pod_spec(self, **fields: Any) -> Self:
        """Set fields of the pod spec of the last pod set by their API names."""
        changed = self._copy()
        changed.raw["spec"]["podSets"][-1]["template"]["spec"].update(fields)
        return changed

    def condition(self, kind: str, status: str, minute: float = 0, reason: str = "") -> Self:
        """Set a condition."""
        changed = self._copy()
        conditions = changed.raw.setdefault("status", {}).setdefault("conditions", [])
        entry = {
            "type": kind,
            "status": status,
            "reason": reason or kind,
            "message": "",
            "lastTransitionTime": at(minute),
        }
        conditions[:] = [old for old in conditions if old["type"] != kind] + [entry]
        return changed

    def reclaimable(self, **counts: int) -> Self:
        """Declare pods that need their quota no more."""
        changed = self._copy()
        pods = [{"name": name, "count": count} for name, count in counts.items()]
        changed.raw.setdefault("status", {})["reclaimablePods"] = pods
        return changed

    def gates(self, *names: str, open_gates: Iterable[str] = ()) -> Self:
        """Set preemption gates and which of them are open."""
        changed = self.with_spec(preemptionGates=[{"name": name} for name in names])
        states = [{"name": name, "position": "Open", "lastTransitionTime": at(0)} for name in open_gates]
        changed.raw.setdefault("status", {})["preemptionGates"] = states
        return changed

    def holds(self, cluster_queue: str, flavor: str = "f", *, since: float = 0) -> Self:
        """Reserve what all pod sets request in a ClusterQueue, every resource in one flavor."""
        assignments = []
        for pod_set in self.raw["spec"]["podSets"]:
            requests = pod_set["template"]["spec"]["containers"][0]["resources"]["requests"]
            assignments.append(
                {
                    "name": pod_set["name"],
                    "count": pod_set["count"],
                    "flavors": dict.fromkeys(requests, flavor),
                    "resourceUsage": {name: _times(amount, pod_set["count"]) for name, amount in requests.items()},
                }
            )
        changed = self._copy()
        admission = {"clusterQueue": cluster_queue, "podSetAssignments": assignments}
        changed.raw.setdefault("status", {})["admission"] = admission
        return changed.condition("QuotaReserved", "True", since).condition("Admitted", "True", since)

    def with_usage(self, **amounts: Amount) -> Self:
        """Let a workload that holds quota hold more of other resources, in the flavor of its first pod set."""
        changed = self._copy()
        assignment = changed.raw["status"]["admission"]["podSetAssignments"][0]
        flavor = next(iter(assignment["flavors"].values()))
        assignment["flavors"].update(dict.fromkeys(amounts, flavor))
        assignment["resourceUsage"].update({name: str(amount) for name, amount in amounts.items()})
        return changed

    def backing_off(self, until: float) -> Self:
        """Let the workload wait until some minute before it is tried again."""
        changed = self._copy()
        changed.raw.setdefault("status", {})["requeueState"] = {"count": 1, "requeueAt": at(until)}
        return changed

    def evicted(self, minute: float = 0, reason: str = "Preempted") -> Self:
        """Evict the workload, which keeps its quota until its job has stopped."""
        return self.condition("Evicted", "True", minute, reason)


def _times(amount: str, count: int) -> str:
    return amount if count == 1 else str(int(amount) * count)


def _pod_set(name: str) -> Json:
    containers = [{"name": "c", "resources": {"requests": {}}}]
    return {"name": name, "count": 1, "template": {"spec": {"containers": containers}}}


def cluster_queue(name: str) -> ClusterQueueBuilder:
    """Return a ClusterQueue open to every namespace."""
    return ClusterQueueBuilder(_object("ClusterQueue", name, {"namespaceSelector": {}}))


def cohort(name: str) -> CohortBuilder:
    """Return a Cohort."""
    return CohortBuilder(_object("Cohort", name))


def flavor(name: str) -> FlavorBuilder:
    """Return a ResourceFlavor."""
    return FlavorBuilder(_object("ResourceFlavor", name))


def local_queue(name: str, queue: str, *, stop: str = "None") -> Builder:
    """Return a LocalQueue."""
    return Builder(_object("LocalQueue", name, {"clusterQueue": queue, "stopPolicy": stop}, namespace=NAMESPACE))


def namespace(name: str, **labels: str) -> Builder:
    """Return a Namespace."""
    return Builder({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})


def limit_range(**default_requests: Amount) -> Builder:
    """Return a LimitRange with what containers request that do not say so."""
    limits = [{"type": "Container", "defaultRequest": {name: str(amount) for name, amount in default_requests.items()}}]
    metadata = {"name": "limits", "namespace": NAMESPACE}
    return Builder({"apiVersion": "v1", "kind": "LimitRange", "metadata": metadata, "spec": {"limits": limits}})


def admission_check(name: str) -> Builder:
    """Return an AdmissionCheck whose controller is there."""
    raw = _object("AdmissionCheck", name, {"controllerName": "example.com/check"})
    active = {"type": "Active", "status": "True", "reason": "Active", "message": "", "lastTransitionTime": at(0)}
    return Builder({**raw, "status": {"conditions": [active]}})


def workload(name: str) -> WorkloadBuilder:
    """Return a pending Workload without requests."""
    spec = {"active": True, "podSets": [_pod_set("main")]}
    metadata = {"namespace": NAMESPACE, "uid": name, "creationTimestamp": at(0)}
    return WorkloadBuilder(_object("Workload", name, spec, **metadata))


def cluster(*builders: Builder) -> list[Json]:
    """Return the raw objects, with the flavors and LocalQueues that are referred to and not given."""
    objects = [builder.raw for builder in builders]
    given = {(raw["kind"], raw["metadata"]["name"]) for raw in objects}
    for raw in list(objects):
        for group in raw["spec"].get("resourceGroups", []) if raw["kind"] in ("ClusterQueue", "Cohort") else []:
            for quotas in group["flavors"]:
                if ("ResourceFlavor", quotas["name"]) not in given:
                    given.add(("ResourceFlavor", quotas["name"]))
                    objects.append(flavor(quotas["name"]).raw)
        if raw["kind"] == "ClusterQueue" and ("LocalQueue", raw["metadata"]["name"]) not in given:
            objects.append(local_queue(raw["metadata"]["name"], raw["metadata"]["name"]).raw)
    return objects
