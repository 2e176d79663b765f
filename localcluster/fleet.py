"""Fleet: a hub and its workers as local clusters, each with its Kueue and a queue, ready for an orchestrator.

Started together or not at all. The hub's Kueue knows the workers only as objects: who connects them is not part of it.
"""

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from config.api.meta import Obj
from config.names import CONTROLLER_NAME
from localcluster.cluster import LocalCluster, LocalClusterError
from localcluster.kinds.clock import ServerClock
from localcluster.kueue.profile import CURRENT, KueueProfile
from localcluster.kueue.stand_in import LocalKueue
from localcluster.sample_queues import Ties, hub_objects, worker_objects

HUB_NAMESPACE: Final = "turnstile-system"
"""Where the hub keeps the workers' kubeconfigs."""


@dataclass(frozen=True, slots=True)
class Member:
    """One cluster of a fleet."""

    name: str
    cpu: str = "8"
    """The quota of its queue."""
    profile: KueueProfile = CURRENT
    clock: ServerClock | None = None
    """Its own time; the machine's by default."""


class LocalFleet:
    """Hub and workers. Use it as an async context manager."""

    def __init__(
        self,
        hub: Member,
        workers: Sequence[Member],
        directory: Path,
        *,
        controller_name: str = CONTROLLER_NAME,
        registers_workers: bool = True,
    ) -> None:
        """`registers_workers` False leaves it to others to give the hub access to the workers."""
        names = [member.name for member in (hub, *workers)]
        if len(set(names)) < len(names):
            raise LocalClusterError(f"the clusters of a fleet must have different names: {', '.join(names)}")
        self._hub = hub
        self._workers = tuple(workers)
        self._controller_name = controller_name
        self._registers_workers = registers_workers
        self._stack = AsyncExitStack()
        self.clusters: Final[Mapping[str, LocalCluster]] = {
            member.name: LocalCluster(member.name, directory, kinds=member.profile.kinds(), clock=member.clock)
            for member in (hub, *workers)
        }
        self.kueues: Final[Mapping[str, LocalKueue]] = {
            member.name: LocalKueue(self.clusters[member.name].store, member.profile) for member in (hub, *workers)
        }

    @property
    def hub(self) -> LocalCluster:
        """Return the hub."""
        return self.clusters[self._hub.name]

    @property
    def workers(self) -> list[LocalCluster]:
        """Return the workers in the order in which the hub lists them."""
        return [self.clusters[worker.name] for worker in self._workers]

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            for name, cluster in self.clusters.items():
                await stack.enter_async_context(cluster)
                await stack.enter_async_context(self.kueues[name].running())
            for worker in self._workers:
                _create(self.clusters[worker.name], worker_objects(worker.cpu))
            _create(self.hub, hub_objects(self._hub.cpu, self._ties()))
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        return await self._stack.__aexit__(kind, error, traceback)

    def _ties(self) -> Ties:
        registered = self.workers if self._registers_workers else []
        kubeconfigs = {worker.name: worker.kubeconfig_path.read_bytes() for worker in registered}
        return Ties(
            workers=[worker.name for worker in self._workers],
            kubeconfigs=kubeconfigs,
            namespace=HUB_NAMESPACE,
            controller_name=self._controller_name,
        )


def _create(cluster: LocalCluster, objects: Sequence[Obj]) -> None:
    """Create objects as a user would; they name their kind and namespace themselves."""
    store = cluster.store
    kinds = {(each.kind.api_version, each.kind.kind): each.kind for each in store.ledger.collections.values()}
    for obj in objects:
        kind = kinds[obj["apiVersion"], obj["kind"]]
        store.create(kind, obj, obj["metadata"].get("namespace", ""))
