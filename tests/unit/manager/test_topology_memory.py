"""What following Nodes and Pods for topologies keeps in memory: what the pods of a large worker cost."""

import gc
import json
import tracemalloc
from typing import Any

from config.api.meta import ObjectKey
from engine.forecasting.observed import ObservedCluster
from workerclient.base.errors import Operation
from workerclient.base.holdings import Holdings
from workerclient.objects.cache import Cache
from workerclient.wire.codec import Identity

NODES, PODS = 300, 3_000
MOST_BYTES = 1_500


def pod(number: int) -> dict[str, Any]:
    """Return a pod as it comes over the wire, with what nobody needs here."""
    environment = [{"name": f"VARIABLE_{n}", "value": "value " * 4} for n in range(20)]
    requests = {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": str(number % 8)}
    container = {"name": "main", "image": "i", "env": environment, "resources": {"requests": requests}}
    metadata = {
        "name": f"job-{number // 10}-{number:05x}",
        "namespace": "team",
        "uid": f"{number:032x}-aaaa",
        "resourceVersion": str(100_000 + number),
        "labels": {"batch.kubernetes.io/job-name": f"job-{number // 10}"},
    }
    spec = {"nodeName": f"node-{number % NODES}", "containers": [container]}
    return {"metadata": metadata, "spec": spec, "status": {"phase": "Running"}}


class Followed:
    """Pods as they are kept: by the model, the cache of the watch, and the count of what is held."""

    def __init__(self) -> None:
        self.cluster = ObservedCluster()
        self._cache: Cache[Any] = Cache()
        self._share = Holdings(lambda: None).share()

    def take(self, line: bytes) -> None:
        raw = json.loads(line)
        metadata = raw["metadata"]
        key = ObjectKey(metadata["namespace"], metadata["name"])
        value = self.cluster.read("Pod", raw)
        self._share.put(Operation("w1", "watch", "pods"), key, len(line))
        self._cache.observe(Identity(key, metadata["uid"], metadata["resourceVersion"]), value)
        self.cluster.put("Pod", key.namespace, key.name, value)


def test_a_pod_takes_no_more_than_a_kilobyte_and_a_half() -> None:
    lines = [json.dumps(pod(number)).encode() for number in range(PODS)]
    Followed().take(lines[0])
    gc.collect()
    tracemalloc.start()
    try:
        followed = Followed()
        for line in lines:
            followed.take(line)
        gc.collect()
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(followed.cluster.model.objects()["Pod"]) == PODS
    assert kept / PODS <= MOST_BYTES, f"{kept / PODS:.0f} bytes per pod"
