"""Whatever a worker sends of what decides about its schedule: its model reads or refuses it."""

from functools import partial
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from config.api.meta import ObjectKey
from engine.forecasting.forecast import forecast
from engine.forecasting.observed import ObservedCluster
from tests.property.odd_objects import CLUSTER_QUEUE, FLAVOR, WORKLOAD
from tests.property.odd_worker_objects import ANY_OBJECT, mutated
from workerclient.base.kind import ApiKind
from workerclient.objects.cache import Unreadable
from workerclient.objects.watched import WatchedKind
from workerclient.wire.codec import Identity

Obj = dict[str, Any]

NOW_NS = 1_800_000_000 * 1_000_000_000
META = {"uid": "u", "resourceVersion": "1"}
OBJECTS: dict[str, Obj] = {
    "Namespace": {"metadata": {"name": "ns", "labels": {"a": "b"}, **META}},
    "LimitRange": {
        "metadata": {"name": "l", "namespace": "ns", **META},
        "spec": {"limits": [{"type": "Container", "max": {"cpu": "4"}, "defaultRequest": {"cpu": "1"}}]},
    },
    "RuntimeClass": {"metadata": {"name": "kata", **META}, "overhead": {"podFixed": {"cpu": "1m"}}},
    "ResourceFlavor": {**FLAVOR, "metadata": {"name": "f", **META}},
    "AdmissionCheck": {
        "metadata": {"name": "check", **META},
        "spec": {"controllerName": "x", "parameters": {"kind": "K", "name": "n"}},
        "status": {"conditions": [{"type": "Active", "status": "True"}]},
    },
    "Cohort": {"metadata": {"name": "c", **META}, "spec": {"parentName": "p", "fairSharing": {"weight": "1"}}},
    "ClusterQueue": {**CLUSTER_QUEUE, "metadata": {"name": "a", **META}},
    "LocalQueue": {"metadata": {"name": "q", "namespace": "ns", **META}, "spec": {"clusterQueue": "a"}},
    "Workload": {**WORKLOAD, "metadata": {**WORKLOAD["metadata"], **META}},
}


def take(observed: ObservedCluster, kind: str, raw: Any, name: str) -> None:
    """Take an object as an observation does: what raises here would end its connection."""
    key = ObjectKey("" if kind in ("ClusterQueue", "ResourceFlavor", "Cohort", "Namespace") else "ns", name)
    watched = WatchedKind(ApiKind("", "v1", kind, kind), partial(observed.read, kind))
    value = watched.read(Identity(key, "u", "1"), raw)
    observed.put(kind, key.namespace, key.name, None if isinstance(value, Unreadable) else value)


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_F8_a_mutated_object_never_breaks_the_model_of_a_worker(data: st.DataObject) -> None:
    odd = data.draw(st.sampled_from(sorted(OBJECTS)))
    observed = ObservedCluster()
    for kind, raw in OBJECTS.items():
        take(observed, kind, data.draw(mutated(raw)) if kind == odd else raw, raw["metadata"]["name"])
    asks = {**OBJECTS["Workload"], "metadata": {**OBJECTS["Workload"]["metadata"], "name": "asks"}, "status": {}}
    take(observed, "Workload", asks, "asks")
    forecast(observed, ObjectKey("ns", "asks"), NOW_NS)
    take(observed, odd, OBJECTS[odd], OBJECTS[odd]["metadata"]["name"])  # and it is put right again
    assert forecast(observed, ObjectKey("ns", "asks"), NOW_NS) is not None


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(sorted(OBJECTS)), ANY_OBJECT)
def test_F8_any_json_is_read_or_refused_by_the_model_of_a_worker(kind: str, raw: Obj) -> None:
    take(ObservedCluster(), kind, raw, "x")
