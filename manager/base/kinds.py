"""The kinds that the daemon reads and writes, and which kinds of jobs the configuration switches on."""

from collections.abc import Iterable
from typing import Final

from config.names import KUEUE_GROUP
from config.sections.sections import CustomKind, JobsSection
from gates.jobs.kinds import SHIPPED, JobKind, StatusSync
from gates.planning.wanted import POD_CLASSES, WORKLOAD_CLASSES
from workerclient.base.kind import ApiKind

WORKLOADS: Final = ApiKind(KUEUE_GROUP, "v1beta2", "Workload", "workloads")
ADMISSION_CHECKS: Final = ApiKind(KUEUE_GROUP, "v1beta2", "AdmissionCheck", "admissionchecks", namespaced=False)
CONFIGS: Final = ApiKind(KUEUE_GROUP, "v1beta2", "MultiKueueConfig", "multikueueconfigs", namespaced=False)
CLUSTERS: Final = ApiKind(KUEUE_GROUP, "v1beta2", "MultiKueueCluster", "multikueueclusters", namespaced=False)
SECRETS: Final = ApiKind("", "v1", "Secret", "secrets")
CONFIG_MAPS: Final = ApiKind("", "v1", "ConfigMap", "configmaps")
DEPLOYMENTS: Final = ApiKind("apps", "v1", "Deployment", "deployments")
NAMESPACES: Final = ApiKind("", "v1", "Namespace", "namespaces", namespaced=False)
PROFILES: Final = ApiKind("multicluster.x-k8s.io", "v1alpha1", "ClusterProfile", "clusterprofiles")
LEASES: Final = ApiKind("coordination.k8s.io", "v1", "Lease", "leases")
EVENTS: Final = ApiKind("", "v1", "Event", "events")
JOBS: Final = ApiKind("batch", "v1", "Job", "jobs")
LOCAL_QUEUES: Final = ApiKind(KUEUE_GROUP, "v1beta2", "LocalQueue", "localqueues")
CLUSTER_QUEUES: Final = ApiKind(KUEUE_GROUP, "v1beta2", "ClusterQueue", "clusterqueues", namespaced=False)
PRIORITY_CLASSES: Final = {
    WORKLOAD_CLASSES: ApiKind(
        KUEUE_GROUP, "v1beta2", "WorkloadPriorityClass", "workloadpriorityclasses", namespaced=False
    ),
    POD_CLASSES: ApiKind(POD_CLASSES, "v1", "PriorityClass", "priorityclasses", namespaced=False),
}


def api_kind(kind: JobKind) -> ApiKind:
    """Return how a kind of job is called on the wire."""
    return ApiKind(kind.group, kind.version, kind.kind, kind.plural)


def job_kinds(jobs: JobsSection) -> tuple[JobKind, ...]:
    """Return the kinds of jobs that the configuration switches on."""
    shipped = (kind for kind in SHIPPED if kind.integration in jobs.integrations)
    return (*shipped, *_custom(jobs.custom_kinds))


def _custom(kinds: Iterable[CustomKind]) -> Iterable[JobKind]:
    for kind in kinds:
        yield JobKind(
            kind.group,
            kind.version,
            kind.kind,
            kind.plural,
            managed_by=tuple(kind.managed_by.split(".")),
            status=StatusSync.WHOLE if kind.copy_status else StatusSync.NOTHING,
        )
