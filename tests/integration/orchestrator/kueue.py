"""One cluster in the hands of a test, and the objects that users and Kueue make.

The methods write to the cluster's store what Kueue and users would write through its API.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from config.names import MULTIKUEUE_NAME
from localcluster.access.auth import Allow, TokenUser
from localcluster.cluster import LocalCluster
from localcluster.kinds.clock import Timer
from localcluster.kinds.kinds import ServedKind
from localcluster.store.ledger import Change, ChangeType
from tests.support.virtual_time import VirtualClock

Obj = dict[str, Any]

NAMESPACE = "team"
KUEUE = "kueue.x-k8s.io"
LIMITED_TOKEN = "limited-token-of-a-throw-away-cluster"


class _Alarm:
    def __init__(self) -> None:
        self.is_off = False

    def cancel(self) -> None:
        self.is_off = True


class ClusterClock:
    """A cluster's clock that goes with the test's, with a skew of its own."""

    def __init__(self, virtual: VirtualClock) -> None:
        self._virtual = virtual
        self.skew = timedelta()

    def now(self) -> datetime:
        return datetime.fromtimestamp(self._virtual.now_ns() / 1e9, UTC) + self.skew

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        alarm = _Alarm()
        if seconds <= 0:
            asyncio.get_running_loop().call_soon(callback)
            return alarm
        self._virtual.wake_at(self._virtual.monotonic() + seconds, lambda: None if alarm.is_off else callback())
        return alarm


class Cluster:
    """One cluster in the hands of a test."""

    def __init__(
        self,
        name: str,
        directory: Path,
        clock: VirtualClock,
        kinds: tuple[ServedKind, ...] | None = None,
        rules: tuple[Allow, ...] | None = None,
        local: LocalCluster | None = None,
    ) -> None:
        """Make the cluster, unless there is one already."""
        self.name = name
        self.clock = ClusterClock(clock)
        users = () if rules is None else (TokenUser("limited", LIMITED_TOKEN, rules=rules),)
        self.local = local or LocalCluster(name, directory, clock=self.clock, kinds=kinds, users=users)
        self.store = self.local.store
        self.is_limited = rules is not None
        self.is_test_writing = False
        """Whether the write that happens now is the test's and not the daemon's."""
        self.shows_gates = False
        """Whether Kueue gives every gated Workload its gate in the status, as the feature gate makes it do."""
        self.gate_field = "position"
        if kinds is None or any((kind.plural, kind.group) == ("workloads", KUEUE) for kind in kinds):
            self.store.subscribe(self.store.kind("workloads", KUEUE), self._follow_gates)

    def kubeconfig(self) -> bytes:
        """Return the kubeconfig that the daemon gets."""
        text = self.local.kubeconfig_path.read_text()
        return (text.replace(self.local.token, LIMITED_TOKEN) if self.is_limited else text).encode()

    @contextmanager
    def _test_writes(self) -> Iterator[None]:
        self.is_test_writing = True
        try:
            yield
        finally:
            self.is_test_writing = False

    def now(self) -> str:
        return self.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")

    def create(self, plural: str, document: Obj, group: str = "", namespace: str = "") -> Obj:
        with self._test_writes():
            return self.store.create(self.store.kind(plural, group), deepcopy(document), namespace).version.obj

    def find(self, plural: str, name: str, group: str = "", namespace: str = NAMESPACE) -> Obj | None:
        found = self.store.collection(self.store.kind(plural, group)).get((namespace, name))
        return found.obj if found is not None else None

    def get(self, plural: str, name: str, group: str = "", namespace: str = NAMESPACE) -> Obj:
        found = self.find(plural, name, group, namespace)
        assert found is not None, f"{self.name} has no {plural} {namespace}/{name}"
        return found

    def delete(self, plural: str, name: str, group: str = "", namespace: str = NAMESPACE) -> None:
        with self._test_writes():
            self.store.delete(self.store.kind(plural, group), name, namespace)

    def change(
        self, plural: str, name: str, change: Callable[[Obj], object], group: str = "", namespace: str = NAMESPACE
    ) -> Obj:
        def changed(stored: Obj) -> Obj:
            copy = deepcopy(stored)
            change(copy)
            return copy

        with self._test_writes():
            return self.store.patch(self.store.kind(plural, group), name, changed, namespace).version.obj

    def change_status(
        self, plural: str, name: str, change: Callable[[Obj], object], group: str = "", namespace: str = NAMESPACE
    ) -> Obj:
        def changed(stored: Obj) -> Obj:
            copy = deepcopy(stored)
            change(copy.setdefault("status", {}))
            return copy

        kind = self.store.kind(plural, group)
        with self._test_writes():
            return self.store.patch(kind, name, changed, namespace, subresource="status").version.obj

    def identify_as(self, uid: str) -> None:
        """Give the cluster the identity of another one: it was upgraded, or restored."""
        found = self.get("namespaces", "kube-system", namespace="")
        collection = self.store.collection(self.store.kind("namespaces"))
        metadata = {**found["metadata"], "uid": uid}
        self.store.ledger.put(collection, ("", "kube-system"), {**found, "metadata": metadata})

    # --- Workloads

    def workload(self, name: str = "wl") -> Obj:
        return self.get("workloads", name, KUEUE)

    def has_workload(self, name: str = "wl") -> bool:
        return self.find("workloads", name, KUEUE) is not None

    def set_status(self, name: str, change: Callable[[Obj], object]) -> Obj:
        return self.change_status("workloads", name, change, KUEUE)

    def set_condition(
        self, name: str, type_: str, status: str = "True", reason: str = "Test", message: str = ""
    ) -> Obj:
        entry = {
            "type": type_,
            "status": status,
            "reason": reason,
            "message": message,
            "lastTransitionTime": self.now(),
        }

        def change(state: Obj) -> None:
            others = [c for c in state.get("conditions", []) if c["type"] != type_]
            state["conditions"] = [*others, entry]

        return self.set_status(name, change)

    def condition(self, type_: str, name: str = "wl") -> Obj | None:
        conditions = self.workload(name).get("status", {}).get("conditions", [])
        return next((c for c in conditions if c["type"] == type_), None)

    def reserve(self, name: str = "wl", **usage: str) -> None:
        """Reserve quota, as Kueue's scheduler does, and charge this usage to each pod set."""
        workload = self.workload(name)
        assignments = [
            {"name": pod_set["name"], "count": pod_set["count"], "flavors": {"cpu": "default"}, "resourceUsage": usage}
            for pod_set in workload["spec"]["podSets"]
        ]

        def change(state: Obj) -> None:
            state["admission"] = {"clusterQueue": "cq", "podSetAssignments": assignments}
            others = [c for c in state.get("conditions", []) if c["type"] != "QuotaReserved"]
            reserved = {
                "type": "QuotaReserved",
                "status": "True",
                "reason": "QuotaReserved",
                "message": "Quota reserved",
                "lastTransitionTime": self.now(),
            }
            state["conditions"] = [*others, reserved]

        self.set_status(name, change)

    def admit(self, name: str = "wl") -> None:
        """Admit a Workload, as Kueue does on a worker."""
        self.reserve(name)
        self.set_condition(name, "Admitted", reason="Admitted")

    def block(self, name: str = "wl", position: str = "position") -> None:
        """Ask for the gate, as Kueue's scheduler does when it would have to preempt."""
        self.close_gate(name, position)
        self.set_condition(name, "BlockedOnPreemptionGates", reason="PreemptionGated")

    def close_gate(self, name: str = "wl", position: str = "position") -> None:
        entry = {"name": MULTIKUEUE_NAME, position: "Closed", "lastTransitionTime": self.now()}
        self.set_status(name, lambda state: state.update(preemptionGates=[entry]))

    def _follow_gates(self, change: Change) -> None:
        gates = change.new.obj["spec"].get("preemptionGates") if change.type is ChangeType.ADDED else None
        if self.shows_gates and gates:
            name, uid = change.new.obj["metadata"]["name"], change.new.obj["metadata"]["uid"]
            asyncio.get_running_loop().call_soon(self._show_gate, name, uid)

    def _show_gate(self, name: str, uid: str) -> None:
        found = self.find("workloads", name, KUEUE)
        if found is None or found["metadata"]["uid"] != uid or found.get("status", {}).get("preemptionGates"):
            return
        self.close_gate(name, self.gate_field)

    def gate(self, name: str = "wl", position: str = "position") -> str | None:
        """Return how our gate stands."""
        entries = self.workload(name).get("status", {}).get("preemptionGates", [])
        return next((e[position] for e in entries if e["name"] == MULTIKUEUE_NAME), None)

    def evict(self, name: str = "wl", reason: str = "Preempted", message: str = "Preempted") -> None:
        """Evict a Workload, as Kueue does: gates close and the signal is withdrawn in the same write."""

        def change(state: Obj) -> None:
            stamp = self.now()
            gone = ("QuotaReserved", "Admitted", "BlockedOnPreemptionGates", "Evicted")
            kept = [c for c in state.get("conditions", []) if c["type"] not in gone]
            withdrawn = [
                {
                    "type": c["type"],
                    "status": "False",
                    "reason": reason,
                    "message": message,
                    "lastTransitionTime": stamp,
                }
                for c in state.get("conditions", [])
                if c["type"] in gone[:3]
            ]
            evicted = {
                "type": "Evicted",
                "status": "True",
                "reason": reason,
                "message": message,
                "lastTransitionTime": stamp,
            }
            state["conditions"] = [*kept, *withdrawn, evicted]
            state.pop("admission", None)
            for gate in state.get("preemptionGates", []):
                gate.update(position="Closed", lastTransitionTime=stamp)

        self.set_status(name, change)

    def finish(self, name: str = "wl", reason: str = "Succeeded", message: str = "Job finished successfully") -> None:
        self.set_condition(name, "Finished", reason=reason, message=message)


def workload(name: str = "wl", owner: Obj | None = None, **spec: Any) -> Obj:
    """Return a Workload as Kueue makes it for a job."""
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    template = {"spec": {"containers": [container], "restartPolicy": "Never"}}
    metadata: Obj = {"name": name, "namespace": NAMESPACE, "labels": {"kueue.x-k8s.io/job-uid": "u"}}
    if owner is not None:
        reference = {key: owner[key] for key in ("apiVersion", "kind")}
        reference |= {"name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"], "controller": True}
        metadata["ownerReferences"] = [reference]
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": metadata,
        "spec": {"queueName": "main", "podSets": [{"name": "main", "count": 1, "template": template}], **spec},
    }


def job(name: str = "job", managed_by: str | None = MULTIKUEUE_NAME, **spec: Any) -> Obj:
    """Return a batch/v1 Job as a user submits it."""
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    managed = {"managedBy": managed_by} if managed_by is not None else {}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": {"kueue.x-k8s.io/queue-name": "main"}},
        "spec": {
            "suspend": True,
            **managed,
            "template": {"spec": {"containers": [container], "restartPolicy": "Never"}},
            **spec,
        },
    }
