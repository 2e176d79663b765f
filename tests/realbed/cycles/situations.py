"""What is laid before a real Kueue and before the engine: queues, and the jobs that arrive in rounds.

Names are short here; `Situation.objects_in` gives everything a prefix, so that many situations share one cluster and do
not touch each other.
"""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from config.names import KUEUE_API_VERSION, KUEUE_GROUP
from engine.cycles.simulation import Victims
from tests.support.builders import Builder, Json, cluster

GATE = "example.com/gate"
STUBBORN = "example.com/stubborn"
"""Manager of all jobs here: nothing runs them, and the stage says when they have stopped."""


@dataclass(frozen=True, slots=True)
class Job:
    """A job of pods that are all alike."""

    name: str
    queue: str = "a"
    requests: dict[str, Any] = field(default_factory=lambda: {"cpu": 1})
    """What one pod requests."""
    priority: int = 0
    pods: int = 1
    at_least: int | None = None
    """How many pods are enough."""
    boost: int | None = None
    is_gated: bool = False
    """Whether it may preempt only once its gate is open; it is then a Workload without a Job."""

    def document(self, namespace: str) -> Json:
        """Return it as Kueue gets it."""
        return self._workload(namespace) if self.is_gated else self._job(namespace)

    def _job(self, namespace: str) -> Json:
        annotations = {} if self.at_least is None else {f"{KUEUE_GROUP}/job-min-parallelism": str(self.at_least)}
        labels = {
            f"{KUEUE_GROUP}/queue-name": self.queue,
            f"{KUEUE_GROUP}/priority-class": priority_class(self.priority),
        }
        spec = {
            "suspend": True,
            "managedBy": STUBBORN,
            "parallelism": self.pods,
            "completions": self.pods,
            "template": {"spec": {**self._pod(), "restartPolicy": "Never"}},
        }
        metadata = {"name": self.name, "namespace": namespace, "labels": labels, "annotations": annotations}
        return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}

    def _workload(self, namespace: str) -> Json:
        pod_set = {"name": "main", "count": self.pods, "template": {"spec": {**self._pod(), "restartPolicy": "Never"}}}
        spec = {
            "queueName": self.queue,
            "priority": self.priority,
            "podSets": [pod_set],
            "preemptionGates": [{"name": GATE}],
        }
        metadata = {"name": self.name, "namespace": namespace}
        return {"apiVersion": KUEUE_API_VERSION, "kind": "Workload", "metadata": metadata, "spec": spec}

    def _pod(self) -> Json:
        requests = {name: str(amount) for name, amount in self.requests.items()}
        return {
            "containers": [{"name": "main", "image": "registry.example/work:1", "resources": {"requests": requests}}]
        }


@dataclass(frozen=True, slots=True)
class Round:
    """What happens while Kueue may not schedule; then it may, until nothing moves any more."""

    jobs: Sequence[Job] = ()
    opens: Sequence[str] = ()
    """Whose gate is opened."""
    victims_stop: bool = False
    """Whether the jobs stop that were evicted and still run."""


@dataclass(frozen=True, slots=True)
class Situation:
    """Queues and rounds."""

    name: str
    queues: Sequence[Builder]
    rounds: Sequence[Round]
    victims: Victims = Victims.TERMINATING
    """Whether evicted jobs stop at once, or go on until a round lets them stop."""

    def objects_in(self, prefix: str, hold: str) -> list[Json]:
        """Return the objects to begin with; every ClusterQueue needs the flavor `hold`, which is not among them."""
        objects = [_prefixed(raw, prefix) for raw in cluster(*self.queues)]
        for raw in objects:
            if raw["kind"] == "ClusterQueue":
                quota = {"name": "example.com/hold", "nominalQuota": "0"}
                held = {"coveredResources": ["example.com/hold"], "flavors": [{"name": hold, "resources": [quota]}]}
                raw["spec"]["resourceGroups"].append(held)
        return objects


def priority_class(priority: int) -> str:
    """Return the name of the WorkloadPriorityClass with this value."""
    return f"priority-{priority}".replace("--", "-minus-")


def _prefixed(raw: Json, prefix: str) -> Json:
    raw = deepcopy(raw)
    if raw["kind"] == "LocalQueue":
        raw["metadata"]["namespace"] = prefix
        raw["spec"]["clusterQueue"] = f"{prefix}-{raw['spec']['clusterQueue']}"
        return raw
    raw["metadata"]["name"] = f"{prefix}-{raw['metadata']['name']}"
    spec = raw["spec"]
    for parent in ("cohortName", "parentName"):
        if parent in spec:
            spec[parent] = f"{prefix}-{spec[parent]}"
    for group in spec.get("resourceGroups", ()):
        for quotas in group["flavors"]:
            quotas["name"] = f"{prefix}-{quotas['name']}"
    return raw
