"""A cluster's store with a stand-in for Kueue on it, in virtual time: what the tests of the stand-in have in common."""

from datetime import timedelta
from typing import Any

from config.api.meta import NANOSECONDS, Condition, conditions
from config.names import KUEUE_GROUP
from localcluster.kinds.clock import ManualClock
from localcluster.kueue.profile import CURRENT, KueueProfile
from localcluster.kueue.stand_in import LocalKueue
from localcluster.store.deletion import DeleteOptions, DeletionPropagation
from localcluster.store.gc import OwnerGarbageCollector
from localcluster.store.patch import merge_patch
from localcluster.store.store import Store
from tests.support.builders import NAMESPACE, START, Builder, cluster

Json = dict[str, Any]

GATE = "kueue.x-k8s.io/multikueue"

_PLURALS = {
    "Namespace": ("namespaces", ""),
    "LimitRange": ("limitranges", ""),
    "Job": ("jobs", "batch"),
    "PriorityClass": ("priorityclasses", "scheduling.k8s.io"),
    "WorkloadPriorityClass": ("workloadpriorityclasses", KUEUE_GROUP),
    "ResourceFlavor": ("resourceflavors", KUEUE_GROUP),
    "AdmissionCheck": ("admissionchecks", KUEUE_GROUP),
    "Cohort": ("cohorts", KUEUE_GROUP),
    "ClusterQueue": ("clusterqueues", KUEUE_GROUP),
    "LocalQueue": ("localqueues", KUEUE_GROUP),
    "Workload": ("workloads", KUEUE_GROUP),
}


class Stage:
    """One cluster with one Kueue."""

    def __init__(self, profile: KueueProfile = CURRENT) -> None:
        self.clock = ManualClock(START)
        self.store = Store(profile.kinds(), self.clock)
        self.gc = OwnerGarbageCollector(self.store, lambda: None)
        self.create({"kind": "Namespace", "metadata": {"name": NAMESPACE}})
        self.kueue = LocalKueue(self.store, profile)

    def create(self, raw: Json) -> Json:
        """Create one object, with its status."""
        kind = self.store.kind(*_PLURALS[raw["kind"]])
        namespace = NAMESPACE if kind.namespaced else ""
        created = self.store.create(kind, {**raw, "metadata": {**raw["metadata"]}}, namespace).version.obj
        if raw.get("status"):
            self.patch(raw["kind"], raw["metadata"]["name"], {"status": raw["status"]}, "status")
        return created

    def given(self, *builders: Builder) -> "Stage":
        """Create objects, with the flavors and LocalQueues that they need, and let Kueue do what it does."""
        objects = cluster(*builders)
        for raw in sorted(objects, key=lambda raw: raw["kind"] == "Workload"):
            if raw["kind"] != "LocalQueue" or self.find("LocalQueue", raw["metadata"]["name"]) is None:
                self.create(raw)
        return self.settle()

    def submit(self, *builders: Builder) -> "Stage":
        """Create objects and nothing else, and let Kueue do what it does."""
        for builder in builders:
            self.create(builder.raw)
        return self.settle()

    def settle(self) -> "Stage":
        """Let Kueue and the garbage collector do everything that takes no time."""
        self.kueue.settle()
        self.gc.run()
        self.kueue.settle()
        return self

    def advance(self, seconds: float) -> "Stage":
        """Let Kueue take up what happened, then let time pass, with a stop whenever Kueue waits for it."""
        self.settle()
        end = self.clock.now() + timedelta(seconds=seconds)
        while (due_ns := self.kueue.next_ns()) is not None:
            wait = (due_ns - self.kueue.now_ns()) / NANOSECONDS
            if self.clock.now() + timedelta(seconds=wait) > end:
                break
            self.clock.advance(max(wait, 0))
            self.settle()
        self.clock.advance((end - self.clock.now()).total_seconds())
        return self.settle()

    def find(self, kind: str, name: str) -> Json | None:
        """Return an object, None if there is none."""
        served = self.store.kind(*_PLURALS[kind])
        found = self.store.collection(served).get((NAMESPACE if served.namespaced else "", name))
        return None if found is None else found.obj

    def get(self, kind: str, name: str) -> Json:
        """Return an object that is there."""
        found = self.find(kind, name)
        assert found is not None, f"there is no {kind} {name}"
        return found

    def all(self, kind: str) -> list[Json]:
        """Return all objects of a kind."""
        return self.store.list(self.store.kind(*_PLURALS[kind]))

    def patch(self, kind: str, name: str, patch: Json, subresource: str = "") -> "Stage":
        """Let another client change an object."""
        served = self.store.kind(*_PLURALS[kind])
        namespace = NAMESPACE if served.namespaced else ""
        self.store.patch(served, name, lambda raw: merge_patch(raw, patch), namespace, subresource=subresource)
        return self

    def delete(self, kind: str, name: str) -> "Stage":
        """Let another client delete an object, as kubectl does."""
        served = self.store.kind(*_PLURALS[kind])
        options = DeleteOptions(propagation=DeletionPropagation.BACKGROUND)
        self.store.delete(served, name, NAMESPACE if served.namespaced else "", options)
        return self.settle()

    def workload(self, name: str) -> Json:
        """Return a Workload."""
        return self.get("Workload", name)

    def condition(self, name: str, condition: str) -> Condition | None:
        """Return a condition of a Workload."""
        return conditions(self.workload(name)).get(condition)

    def told(self, name: str, condition: str) -> tuple[str, str, str] | None:
        """Return status, reason and message of a condition of a Workload."""
        found = self.condition(name, condition)
        return None if found is None else (found.status, found.reason, found.message)

    def holds(self, name: str, condition: str) -> bool:
        """Return whether a condition of a Workload is true."""
        found = self.condition(name, condition)
        return found is not None and found.is_true

    def gates(self, name: str) -> dict[str, str]:
        """Return the state of each gate of a Workload, in whichever dialect."""
        entries = self.workload(name).get("status", {}).get("preemptionGates") or ()
        return {entry["name"]: entry.get("position") or entry.get("state") for entry in entries}

    def open_gate(self, name: str, gate: str = GATE, field: str = "position") -> "Stage":
        """Do what the hub does: open a gate of a replica."""
        entry = {"name": gate, field: "Open", "lastTransitionTime": self.now()}
        return self.patch("Workload", name, {"status": {"preemptionGates": [entry]}}, "status").settle()

    def now(self) -> str:
        """Return the time as objects state it."""
        return self.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
