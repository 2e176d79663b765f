"""A local cluster with Jobs and their Workloads in a process of its own, so that the benchmark measures the controller.

`python -m benchmarks.cost_controller_server DIRECTORY JOBS` prints the path of its kubeconfig, then answers each line
on standard input with the requests for Jobs and Workloads since the last one, as JSON.
"""

import asyncio
import json
import sys
from pathlib import Path

from benchmarks.worker_client_objects import workload
from localcluster.cluster import LocalCluster
from localcluster.serving.faults import Latency

KUEUE = "kueue.x-k8s.io"
VERBS = ("get", "list", "watch", "patch")


async def serve(directory: Path, jobs: int) -> None:
    """Serve until standard input ends."""
    async with LocalCluster("bench", directory, watch_buffer=1_000_000) as cluster:
        for number in range(jobs):
            _create(cluster, f"job-{number}", preempted=number % 2)
        counters = {
            f"{verb} {plural}": cluster.faults.add(Latency(0), verb=verb, plural=plural)
            for plural in ("jobs", "workloads")
            for verb in VERBS
        }
        print(cluster.kubeconfig_path, flush=True)
        loop = asyncio.get_running_loop()
        while await loop.run_in_executor(None, sys.stdin.readline):
            print(json.dumps({name: counter.hits for name, counter in counters.items()}), flush=True)
            for counter in counters.values():
                counter.hits = 0


def _create(cluster: LocalCluster, name: str, *, preempted: int) -> None:
    store = cluster.store
    owned = workload(name)
    template = owned["spec"]["podSets"][1]["template"]
    metadata = {"name": name, "labels": {f"{KUEUE}/queue-name": "main"}}
    document = {"metadata": metadata, "spec": {"suspend": True, "parallelism": 9, "template": template}}
    job = store.create(store.kind("jobs", "batch"), document, "default").version.obj
    reference = {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": job["metadata"]["uid"]}
    owned["metadata"]["ownerReferences"] = [{**reference, "controller": True}]
    kind = store.kind("workloads", KUEUE)
    store.create(kind, owned, "default")
    if preempted:
        entry = {"reason": "Preempted", "underlyingCause": "", "count": preempted}
        status = {"schedulingStats": {"evictions": [entry]}}
        store.patch(kind, name, lambda raw: {**raw, "status": status}, "default", subresource="status")


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1]), int(sys.argv[2])))
