"""A local cluster in a process of its own, so that a benchmark measures the client alone.

Prints the path of its kubeconfig, then obeys lines on standard input: `create N` makes N Workloads at once.
"""

import asyncio
import sys
from copy import deepcopy
from pathlib import Path
from typing import Any

from benchmarks.worker_client_objects import workload
from localcluster.cluster import LocalCluster


async def serve(directory: Path) -> None:
    """Serve until standard input ends."""
    async with LocalCluster("bench", directory, watch_buffer=1_000_000) as cluster:
        print(cluster.kubeconfig_path, flush=True)
        kind = cluster.store.kind("workloads", "kueue.x-k8s.io")
        document: dict[str, Any] = workload("")
        loop = asyncio.get_running_loop()
        made = 0
        while line := await loop.run_in_executor(None, sys.stdin.readline):
            for _ in range(int(line.split()[1])):
                made += 1
                copy = deepcopy(document)
                copy["metadata"]["name"] = f"made-{made}"
                cluster.store.create(kind, copy, "default")
            print("done", flush=True)


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1])))
