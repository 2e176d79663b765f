"""The labels and annotations by which Turnstile recognises its own, and Kueue's that it reads.

Invariant: an object on a worker is ours only if both the origin label and the hub's identity agree, so that two hubs
that were given the same origin by mistake still leave each other's objects alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from config.api.identifiers import ClusterUID, WorkerName
from config.names import DOMAIN, ORIGIN_LABEL
from gates.targets.rules import CLUSTER_NAMES

GATE_OPENINGS: Final = f"{DOMAIN}/gate-openings"
"""On a hub Workload: which gates were opened when."""
ROUND_STARTED: Final = f"{DOMAIN}/round-started"
"""On a hub Workload: when the current round of the incremental dispatcher began."""
PREEMPTION_TIMEOUT: Final = f"{DOMAIN}/single-cluster-preemption-timeout"
"""On an AdmissionCheck: the timeout for its Workloads, instead of the configured one."""
WINNER: Final = f"{DOMAIN}/winner"
"""On a hub Workload: the replica that was chosen to run, before its job is created."""
OUT_OF_SYNC: Final = f"{DOMAIN}/out-of-sync"
"""On a hub Workload: how often each worker found it out of sync with its job."""
FORECAST: Final = f"{DOMAIN}/forecast"
"""On a hub Workload: what was forecast when the last gate was opened, and what became of it."""
HUB: Final = f"{DOMAIN}/hub"
"""On this hub's object on a worker: the UID of the hub's namespace kube-system."""
HUB_UID: Final = f"{DOMAIN}/hub-uid"
"""On this hub's object on a worker: the UID of the hub's object that it copies."""
SPEC_DIGEST: Final = f"{DOMAIN}/spec-digest"
"""On a replica: the digest of the hub's spec that it was made from."""
CLUSTER: Final = f"{DOMAIN}/cluster"
"""On an object that we wrote on a worker: the worker's name at that time, so that no other name removes it."""
GATED: Final = f"{DOMAIN}/gated"
"""On a replica: it was created with our gate, whether or not the worker kept that."""

JOB_UID: Final = "kueue.x-k8s.io/job-uid"
JOB_OWNER_GVK: Final = "kueue.x-k8s.io/job-owner-gvk"
JOB_OWNER_NAME: Final = "kueue.x-k8s.io/job-owner-name"
COMPONENT_INDEX: Final = "kueue.x-k8s.io/component-workload-index"
ELASTIC: Final = "kueue.x-k8s.io/elastic-job"
REPLACED_SLICE: Final = "kueue.x-k8s.io/workload-slice-replacement-for"
CONCURRENT_PARENT: Final = "kueue.x-k8s.io/concurrent-admission-parent"
CONCURRENT_GATE: Final = "kueue.x-k8s.io/concurrent-admission"
FINALIZER: Final = "kueue.x-k8s.io/resource-in-use"

_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"


@dataclass(frozen=True, slots=True)
class HubIdentity:
    """Which hub we are, as the workers' objects say it."""

    origin: str
    hub: ClusterUID

    def owns(self, origin: str, hub: ClusterUID) -> bool:
        """Tell whether an object with these marks is ours."""
        return bool(origin) and origin == self.origin and hub == self.hub


def origin_of(metadata: Mapping[str, Any]) -> str:
    """Return the origin that an object on a worker names."""
    return _mark(metadata, "labels", ORIGIN_LABEL)


def hub_of(metadata: Mapping[str, Any]) -> ClusterUID:
    """Return the hub that an object on a worker names."""
    return ClusterUID(_mark(metadata, "annotations", HUB))


def cluster_of(metadata: Mapping[str, Any]) -> WorkerName:
    """Return the worker's name under which an object was written; earlier versions wrote none."""
    return WorkerName(_mark(metadata, "annotations", CLUSTER))


def hub_uid_of(metadata: Mapping[str, Any]) -> str:
    """Return the UID of the hub's object that an object on a worker copies."""
    return _mark(metadata, "annotations", HUB_UID)


def _mark(metadata: Mapping[str, Any], where: str, name: str) -> str:
    """Return a mark; a value that is not a string counts as missing."""
    found = metadata.get(where)
    value = found.get(name) if isinstance(found, Mapping) else None
    return value if isinstance(value, str) else ""


def copied_annotations(annotations: Mapping[str, str] | None) -> dict[str, str]:
    """Return the annotations that go along to a worker: not those that speak of the hub's object only."""
    return {
        key: value
        for key, value in (annotations or {}).items()
        if key not in (_LAST_APPLIED, CLUSTER_NAMES) and not key.startswith(f"{DOMAIN}/")
    }
