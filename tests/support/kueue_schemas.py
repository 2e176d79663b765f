"""OpenAPI documents of Kueue's group, reduced to what differs between releases."""

from dataclasses import dataclass
from typing import Any

from engine.vocabulary.gate_dialect import GateDialect


@dataclass(frozen=True)
class KueueSchema:
    """What the CustomResourceDefinitions of one release have, as read from its tag."""

    gates: bool = True
    pod_sets: int = 18
    clusters: int = 20
    has_concurrent_admission: bool = True
    has_slice_minimum: bool = False
    has_effective_quotas: bool = False
    has_cordon: bool = False
    dialect: GateDialect = GateDialect.KUEUE

    def document(self) -> dict[str, Any]:
        """Return the document that an API server publishes."""
        slice_size = {"minimum": 1} if self.has_slice_minimum else {}
        request = _fields(podSetSliceSize={"type": "integer", **slice_size})
        pod_sets = {"maxItems": self.pod_sets, "items": _fields(topologyRequest=request)}
        gate = {"items": _fields(name={}, **{self.dialect.state_field: {}})}
        gates = {"preemptionGates": gate} if self.gates else {}
        policy: dict[str, Any] = {"concurrentAdmissionPolicy": {}} if self.has_concurrent_admission else {}
        quotas: dict[str, Any] = {"effectiveQuotas": {}} if self.has_effective_quotas else {}
        cordon: dict[str, Any] = {"unschedulable": {}} if self.has_cordon else {}
        kinds = {
            "Workload": _kind({"podSets": pod_sets, **gates}, gates),
            "ClusterQueue": _kind({"cohortName": {}, **policy}, quotas),
            "MultiKueueConfig": _kind({"clusters": {"maxItems": self.clusters}}),
            "MultiKueueCluster": _kind({"clusterSource": {}, **cordon}),
        }
        return {"components": {"schemas": {f"io.x-k8s.kueue.v1beta2.{kind}": each for kind, each in kinds.items()}}}


def _fields(**fields: Any) -> dict[str, Any]:
    return {"properties": fields}


def _kind(spec: dict[str, Any], status: dict[str, Any] | None = None) -> dict[str, Any]:
    return _fields(spec=_fields(**spec), status=_fields(**(status or {})))


V0_15 = KueueSchema(gates=False, pod_sets=8, clusters=10, has_concurrent_admission=False)
V0_16 = KueueSchema(gates=False, pod_sets=8, has_concurrent_admission=False)
V0_17 = KueueSchema(pod_sets=8, has_concurrent_admission=False)
V0_18 = KueueSchema(pod_sets=10)
V0_19 = KueueSchema()
V0_20 = KueueSchema(has_slice_minimum=True, has_effective_quotas=True)
V0_21 = KueueSchema(has_slice_minimum=True, has_effective_quotas=True, has_cordon=True)
