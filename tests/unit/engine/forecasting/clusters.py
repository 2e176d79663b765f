"""Workers as forecasts see them."""

from config.api.meta import ObjectKey
from engine.forecasting.observed import ObservedCluster
from engine.objects.configuration import KueueConfiguration
from engine.vocabulary.features import FeatureGates
from tests.support.builders import NAMESPACE, Builder, Json, WorkloadBuilder, cluster, workload

GATE = "kueue.x-k8s.io/multikueue"
WITH_GATES = KueueConfiguration(gates=FeatureGates(multi_kueue_orchestrated_preemption=True))


def put(observed: ObservedCluster, raw: Json) -> None:
    """Take an object as a watch delivers it."""
    metadata = raw["metadata"]
    observed.put(raw["kind"], metadata.get("namespace") or "", metadata["name"], observed.read(raw["kind"], raw))


def observe(*builders: Builder, configuration: KueueConfiguration = WITH_GATES) -> ObservedCluster:
    """Return the model of a cluster with these objects."""
    observed = ObservedCluster(configuration)
    for raw in cluster(*builders):
        put(observed, raw)
    return observed


KEY = ObjectKey(NAMESPACE, "high")


def high(priority: int = 100, cpu: int = 4) -> WorkloadBuilder:
    return workload("high").queue("cq").priority(priority).request(cpu=cpu).gates(GATE)
