"""One worker as its watches show it: the engine's model and the tenants, kept up to date object by object.

Invariant: everything that is kept was reduced once, when the object arrived; a forecast asks the worker nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from config.api.meta import ObjectKey
from engine.cluster.model import ClusterModel
from engine.forecasting.tenants import Tenant, tenant_of
from engine.objects.configuration import KueueConfiguration
from engine.objects.validate_objects import check_object
from engine.objects.workloads import Workload
from engine.vocabulary.flavor_resource import FlavorResourceTable

OBSERVED_KINDS: Final = (
    "Namespace",
    "LimitRange",
    "RuntimeClass",
    "ResourceFlavor",
    "AdmissionCheck",
    "Cohort",
    "ClusterQueue",
    "LocalQueue",
    "Workload",
)
"""What decides about a schedule. Priority classes are not among it: a Workload holds its priority as a number."""
TOPOLOGY_KINDS: Final = ("Topology", "Node", "Pod")
"""What decides beside them about Workloads on flavors with a topology."""


_NOT_FOLLOWED: Final = "the Nodes and Pods of the cluster are not known"


@dataclass(frozen=True, slots=True)
class Exposure:
    """What is known of a worker at one moment. Quick to take, and nothing that comes later changes it."""

    configuration: KueueConfiguration
    table: FlavorResourceTable
    objects: Mapping[str, Mapping[ObjectKey, Any]]
    tenants: Mapping[ObjectKey, Tenant]
    why_no_topology: str


class ObservedCluster:
    """The model of one worker."""

    def __init__(
        self, configuration: KueueConfiguration | None = None, table: FlavorResourceTable | None = None
    ) -> None:
        self.model: Final = ClusterModel(configuration, table)
        self.model.observe_topology(_NOT_FOLLOWED)
        self.tenants: Final[dict[ObjectKey, Tenant]] = {}
        self._preempted_for: dict[str, set[ObjectKey]] = {}
        self.version = 0
        """Grows with every change, so that an answer can be known to be still good."""
        self.last_change = ""
        """The object that changed last."""

    @classmethod
    def of(cls, exposure: Exposure) -> "ObservedCluster":
        """Build the model that an exposure was taken of; takes a while where there are many objects."""
        made = cls(exposure.configuration, exposure.table.copy())
        made.model.observe_topology(exposure.why_no_topology)
        for kind, known in exposure.objects.items():
            for key, value in known.items():
                made.put(kind, key.namespace, key.name, exposure.tenants[key] if kind == "Workload" else value)
        return made

    def expose(self) -> Exposure:
        """Return all that is known now, for use in another thread."""
        model = self.model
        return Exposure(
            model.configuration,
            model.table.copy(),
            model.objects(),
            self.tenants.copy(),
            model.topology.why_unobserved,
        )

    def observe_topology(self, why_not: str) -> None:
        """Take whether everything of `TOPOLOGY_KINDS` is known from now on, or why it is not."""
        if self.model.observe_topology(why_not):
            self.version += 1
            self.last_change = "what is known of topologies"

    def read(self, kind: str, raw: Mapping[str, Any]) -> Any:
        """Reduce an object to what is kept; raises ValueError for an invalid object."""
        named = {**raw, "kind": kind}
        if kind != "Workload":  # of which there are many, and whose readers check what they read
            check_object(named)
        reduced = self.model.reduce(named)
        if reduced is None:
            raise ValueError(f"a {kind} does not decide about a schedule")
        value = reduced[2]
        return tenant_of(raw, value) if kind == "Workload" else value

    def put(self, kind: str, namespace: str, name: str, value: Any) -> None:
        """Take what `read` made of an object; None when it is gone, or cannot be read."""
        key = ObjectKey(namespace, name)
        if kind == "Workload":
            value = self._put_tenant(key, value)
        if kind in TOPOLOGY_KINDS and self.model.get(kind, key) == value:
            return  # a heartbeat, or a change of what does not matter here
        before = self.model.put(kind, key, value)
        if before is not None or value is not None:
            self.version += 1
            self.last_change = f"{kind} {key}"

    def _put_tenant(self, key: ObjectKey, tenant: Tenant | None) -> Workload | None:
        before = self.tenants.pop(key, None)
        if before is not None and before.preempted is not None:
            victims = self._preempted_for[before.preempted.preemptor_uid]
            victims.discard(key)
            if not victims:
                del self._preempted_for[before.preempted.preemptor_uid]
        if tenant is None:
            return None
        self.tenants[key] = tenant
        if tenant.preempted is not None:
            self._preempted_for.setdefault(tenant.preempted.preemptor_uid, set()).add(key)
        return tenant.workload

    def tenant(self, key: ObjectKey) -> Tenant | None:
        """Return what is known of a Workload."""
        return self.tenants.get(key)

    def victims_of(self, preemptor_uid: str) -> list[tuple[ObjectKey, Tenant]]:
        """Return the Workloads that say that they were preempted for this one, ordered by key."""
        return [(key, self.tenants[key]) for key in sorted(self._preempted_for.get(preemptor_uid, ()))]
