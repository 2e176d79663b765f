"""A fleet of any size: a MultiKueueConfig lists at most 20 clusters, so a larger fleet has several.

The first group is a plain `LocalFleet`; the others are added to its hub.
"""

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from localcluster.catalogue.kueue_kinds.multikueue import MOST_CLUSTERS
from localcluster.cluster import LocalCluster
from localcluster.fleet import HUB_NAMESPACE, LocalFleet, Member
from localcluster.kueue.profile import CURRENT
from localcluster.kueue.stand_in import LocalKueue
from localcluster.sample_queues import QUEUE, Ties, hub_objects, worker_objects

Obj = dict[str, Any]

_HUB_CPU = "1000000"
_THERE_ALREADY = ("Namespace", "WorkloadPriorityClass", "ResourceFlavor")


@dataclass(frozen=True, slots=True)
class Groups:
    """The clusters, and the queues that lead to different workers."""

    hub: LocalCluster
    workers: Sequence[LocalCluster]
    queues: Sequence[str]


@asynccontextmanager
async def running_groups(directory: Path, workers: int, cpu: str) -> AsyncIterator[Groups]:
    """Run a hub and so many workers, each with so much quota."""
    members = [Member(f"worker-{number}", cpu) for number in range(1, workers + 1)]
    first, rest = members[:MOST_CLUSTERS], members[MOST_CLUSTERS:]
    async with LocalFleet(Member("hub", _HUB_CPU), first, directory) as fleet, AsyncExitStack() as stack:
        found, queues = list(fleet.workers), [QUEUE]
        for begin in range(0, len(rest), MOST_CLUSTERS):
            suffix = f"-{len(queues) + 1}"
            group = [await _start(stack, member, directory, suffix) for member in rest[begin : begin + MOST_CLUSTERS]]
            names = [worker.name for worker in group]
            kubeconfigs = {worker.name: worker.kubeconfig_path.read_bytes() for worker in group}
            more = _renamed(hub_objects(_HUB_CPU, Ties(names, kubeconfigs, HUB_NAMESPACE)), suffix)
            _create(fleet.hub, [obj for obj in more if obj["kind"] not in _THERE_ALREADY])
            found += group
            queues.append(f"{QUEUE}{suffix}")
        yield Groups(fleet.hub, found, queues)


async def _start(stack: AsyncExitStack, member: Member, directory: Path, suffix: str) -> LocalCluster:
    cluster = LocalCluster(member.name, directory, kinds=CURRENT.kinds())
    await stack.enter_async_context(cluster)
    await stack.enter_async_context(LocalKueue(cluster.store).running())
    _create(cluster, _renamed(worker_objects(member.cpu), suffix))
    return cluster


def _renamed(objects: Iterable[Obj], suffix: str) -> list[Obj]:
    """Give queues, checks and configurations names of their own."""
    renamed = []
    for obj in objects:
        spec = obj.get("spec", {})
        match obj["kind"]:
            case "ClusterQueue" | "MultiKueueConfig":
                for check in spec.get("admissionChecksStrategy", {}).get("admissionChecks", ()):
                    check["name"] += suffix
            case "LocalQueue":
                spec["clusterQueue"] += suffix
            case "AdmissionCheck":
                spec["parameters"]["name"] += suffix
            case _:
                renamed.append(obj)
                continue
        obj["metadata"]["name"] += suffix
        renamed.append(obj)
    return renamed


def _create(cluster: LocalCluster, objects: Iterable[Obj]) -> None:
    kinds = {(each.kind.api_version, each.kind.kind): each.kind for each in cluster.store.ledger.collections.values()}
    for obj in objects:
        cluster.store.create(kinds[obj["apiVersion"], obj["kind"]], obj, obj["metadata"].get("namespace", ""))
