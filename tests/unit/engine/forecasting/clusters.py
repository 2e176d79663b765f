"""Workers as forecasts see them."""

from engine.configuration import KueueConfiguration
from engine.features import FeatureGates
from engine.forecasting.observed import ObservedCluster
from tests.builders import Builder, Json, cluster

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
