"""A hub and its workers with the stand-in for Kueue, in a process of their own, driven by lines of JSON.

Prints the path of the hub's kubeconfig, then obeys standard input: `connect` waits until every
worker is connected; `run` submits Jobs and waits until they are over and
nothing of them is left on a worker; `signals` measures from a worker's signal to the write that opens its gate;
`delete` removes the hub's Jobs; `requests` reports who asked for what.
"""

import asyncio
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.orchestrator_groups import Groups, running_groups
from config.api.meta import conditions
from config.names import KUEUE_GROUP, MULTIKUEUE_NAME
from engine.vocabulary.gate_dialect import GateDialect
from gates.model.dialect import gate_entries, gate_opened_ns, gate_requested_ns
from localcluster.cluster import LocalCluster
from localcluster.kinds.columns import has_condition
from localcluster.kueue.annotations import RUN_SECONDS
from localcluster.sample_queues import NAMESPACE, QUEUE
from localcluster.store.deletion import DeleteOptions, DeletionPropagation
from localcluster.store.ledger import Change, ChangeType

Obj = dict[str, Any]

_LOOK_SECONDS = 0.02
_SUBMITTED_AT_ONCE = 10
_FILLED_SLOTS = 4


def job(name: str, queue: str, *, seconds: float | None, priority: str, managed: bool) -> Obj:
    """Return a Job of one pod and one CPU, with a template of ordinary size."""
    container = {
        "name": "main",
        "image": "registry.example.org/team/trainer:1.2.3",
        "command": ["python", "-m", "train", "--epochs", "40", "--config", "/etc/train/config.yaml"],
        "env": [{"name": f"SETTING_{number}", "value": f"value number {number}"} for number in range(8)],
        "resources": {"requests": {"cpu": "1"}},
    }
    labels = {f"{KUEUE_GROUP}/queue-name": queue, f"{KUEUE_GROUP}/priority-class": priority}
    spec: Obj = {"template": {"spec": {"containers": [container], "restartPolicy": "Never"}}}
    if managed:
        spec["managedBy"] = MULTIKUEUE_NAME
    annotations = {} if seconds is None else {RUN_SECONDS: str(seconds)}
    metadata = {"name": name, "namespace": NAMESPACE, "labels": labels, "annotations": annotations}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


class Driver:
    """Does what the lines say."""

    def __init__(self, fleet: Groups) -> None:
        self._fleet = fleet
        self._over: set[str] = set()
        self._signalled: dict[tuple[str, str], int] = {}
        self._latencies: list[float] = []
        jobs = fleet.hub.store.collection(fleet.hub.store.kind("jobs", "batch"))
        jobs.listen(self._notice_job)
        for worker in fleet.workers:
            replicas = worker.store.collection(worker.store.kind("workloads", KUEUE_GROUP))
            replicas.listen(self._notice_replica(worker.name))

    async def obey(self, order: Obj) -> Obj:
        """Carry out one order and return its result."""
        match order:
            case {"do": "connect"}:
                return await self._connect()
            case {"do": "run", "count": count, "seconds": seconds, "prefix": prefix}:
                return await self._run(count, seconds, prefix)
            case {"do": "signals", "count": count}:
                return await self._signals(count)
            case {"do": "delete"}:
                return await self._delete()
            case {"do": "requests"}:
                clusters = (self._fleet.hub, *self._fleet.workers)
                return {cluster.name: list(self._requests(cluster)) for cluster in clusters}
            case _:
                raise ValueError(f"no such order: {order}")

    async def _connect(self) -> Obj:
        store = self._fleet.hub.store
        clusters = store.collection(store.kind("multikueueclusters", KUEUE_GROUP))
        await self._until(lambda: all(has_condition(cluster.obj, "Active") for cluster in clusters.scan()))
        return {}

    async def _run(self, count: int, seconds: float, prefix: str) -> Obj:
        began = time.monotonic()
        names = {f"{prefix}-{number}" for number in range(count)}
        queues = self._fleet.queues
        for number in range(count):
            queue = queues[number % len(queues)]
            document = job(f"{prefix}-{number}", queue, seconds=seconds, priority="high", managed=True)
            self._submit(self._fleet.hub, document)
            if number % _SUBMITTED_AT_ONCE == 0:
                await asyncio.sleep(0)
        await self._until(lambda: names <= self._over and not self._replicas())
        return {"seconds": time.monotonic() - began}

    async def _signals(self, count: int) -> Obj:
        """Fill the workers, then let Jobs arrive one after the other that have to preempt."""
        for worker in self._fleet.workers:
            for number in range(_FILLED_SLOTS):
                self._submit(worker, job(f"fill-{number}", QUEUE, seconds=None, priority="low", managed=False))
        await self._until(self._is_full)
        for number in range(count):
            name = f"urgent-{number}"
            self._submit(self._fleet.hub, job(name, QUEUE, seconds=0, priority="high", managed=True))
            await self._until(lambda name=name: name in self._over and self._is_full())  # type: ignore[misc]
        return {"latencies": self._latencies}

    async def _delete(self) -> Obj:
        store = self._fleet.hub.store
        in_background = DeleteOptions(propagation=DeletionPropagation.BACKGROUND)
        for version in list(store.collection(store.kind("jobs", "batch")).scan()):
            store.delete(store.kind("jobs", "batch"), version.key[1], version.key[0], in_background)
        await self._until(lambda: not store.collection(store.kind("workloads", KUEUE_GROUP)).count())
        return {}

    def _is_full(self) -> bool:
        """Return whether every worker runs its low-priority Jobs and holds nothing else."""
        return all(self._runs_only_fillers(worker) for worker in self._fleet.workers)

    def _runs_only_fillers(self, worker: LocalCluster) -> bool:
        store = worker.store
        workloads = list(store.collection(store.kind("workloads", KUEUE_GROUP)).scan())
        return len(workloads) == _FILLED_SLOTS and all(has_condition(each.obj, "Admitted") for each in workloads)

    def _replicas(self) -> int:
        stores = [worker.store for worker in self._fleet.workers]
        return sum(store.collection(store.kind("workloads", KUEUE_GROUP)).count() for store in stores)

    def _submit(self, cluster: LocalCluster, document: Obj) -> None:
        cluster.store.create(cluster.store.kind("jobs", "batch"), document, NAMESPACE)

    def _requests(self, cluster: LocalCluster) -> Iterator[list[Any]]:
        for asked, count in cluster.traffic.counts().items():
            yield [*asked, count]

    def _notice_job(self, change: Change) -> None:
        if has_condition(change.new.obj, "Complete"):
            self._over.add(change.new.key[1])

    def _notice_replica(self, worker: str) -> Callable[[Change], None]:
        """Take the time of the commits by which a worker asks for its gate and by which it is opened."""

        def notice(change: Change) -> None:
            place = (worker, change.new.obj["metadata"]["uid"])
            if change.type is ChangeType.DELETED:
                self._signalled.pop(place, None)
                return
            status = change.new.obj.get("status") or {}
            if gate_opened_ns(gate_entries(status), GateDialect.KUEUE) is not None:
                asked = self._signalled.pop(place, None)
                if asked is not None:
                    self._latencies.append((time.monotonic_ns() - asked) / 1e6)
            elif gate_requested_ns(conditions(status), GateDialect.KUEUE) is not None:
                self._signalled.setdefault(place, time.monotonic_ns())

        return notice

    async def _until(self, condition: Callable[[], object]) -> None:
        """Poll rarely: the machine is also the daemon's."""
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(_LOOK_SECONDS)


async def serve(directory: Path, workers: int, cpu: str) -> None:
    """Serve until standard input ends."""
    async with running_groups(directory, workers, cpu) as fleet:
        driver = Driver(fleet)
        print(json.dumps({"kubeconfig": str(fleet.hub.kubeconfig_path)}), flush=True)
        loop = asyncio.get_running_loop()
        while line := await loop.run_in_executor(None, sys.stdin.readline):
            print(json.dumps(await driver.obey(json.loads(line))), flush=True)


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]))
