"""The resources that the suite uses, and where they are served."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Resource:
    """One served resource; `at` gives the URL path of a collection, an object or a subresource."""

    group: str
    version: str
    plural: str
    kind: str
    is_namespaced: bool = True

    @property
    def api_version(self) -> str:
        """Return the value of `apiVersion`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def base(self) -> str:
        """Return the path of the group and version."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    @property
    def qualified(self) -> str:
        """Return the name as error messages have it, `plural.group`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def at(self, namespace: str | None = None, name: str | None = None, subresource: str | None = None) -> str:
        """Return a path; without a namespace, that of a cluster-wide object or of the list over all namespaces."""
        scope = [] if namespace is None else ["namespaces", namespace]
        return "/".join([self.base, *scope, self.plural, *filter(None, (name, subresource))])


def _kueue(plural: str, kind: str, *, is_namespaced: bool = False) -> Resource:
    return Resource("kueue.x-k8s.io", "v1beta2", plural, kind, is_namespaced)


NAMESPACES = Resource("", "v1", "namespaces", "Namespace", is_namespaced=False)
NODES = Resource("", "v1", "nodes", "Node", is_namespaced=False)
SECRETS = Resource("", "v1", "secrets", "Secret")
PODS = Resource("", "v1", "pods", "Pod")
EVENTS = Resource("", "v1", "events", "Event")
NEW_EVENTS = Resource("events.k8s.io", "v1", "events", "Event")
LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease")
JOBS = Resource("batch", "v1", "jobs", "Job")
DISRUPTION_BUDGETS = Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget")
PRIORITY_CLASSES = Resource("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", is_namespaced=False)
POD_GROUPS = Resource("scheduling.k8s.io", "v1alpha2", "podgroups", "PodGroup")
ACCESS_REVIEWS = Resource(
    "authorization.k8s.io", "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", is_namespaced=False
)
SERVICE_ACCOUNTS = Resource("", "v1", "serviceaccounts", "ServiceAccount")
CLUSTER_ROLES = Resource("rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", is_namespaced=False)
CLUSTER_ROLE_BINDINGS = Resource(
    "rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding", is_namespaced=False
)
ROLE_BINDINGS = Resource("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding")
SELF_REVIEWS = Resource("authentication.k8s.io", "v1", "selfsubjectreviews", "SelfSubjectReview", is_namespaced=False)
TOKEN_REVIEWS = Resource("authentication.k8s.io", "v1", "tokenreviews", "TokenReview", is_namespaced=False)

WORKLOADS = _kueue("workloads", "Workload", is_namespaced=True)
LOCAL_QUEUES = _kueue("localqueues", "LocalQueue", is_namespaced=True)
CLUSTER_QUEUES = _kueue("clusterqueues", "ClusterQueue")
COHORTS = _kueue("cohorts", "Cohort")
RESOURCE_FLAVORS = _kueue("resourceflavors", "ResourceFlavor")
ADMISSION_CHECKS = _kueue("admissionchecks", "AdmissionCheck")
WORKLOAD_PRIORITY_CLASSES = _kueue("workloadpriorityclasses", "WorkloadPriorityClass")
MULTIKUEUE_CONFIGS = _kueue("multikueueconfigs", "MultiKueueConfig")
MULTIKUEUE_CLUSTERS = _kueue("multikueueclusters", "MultiKueueCluster")
TOPOLOGIES = _kueue("topologies", "Topology")
