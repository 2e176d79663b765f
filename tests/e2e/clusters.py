"""The clusters that the suite runs on, local or real, behind one interface.

A worker is reached by Turnstile through a TCP proxy and by the test directly, so a cut between hub and worker blinds
the one and not the other.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import aiohttp
import yaml

from localcluster.cluster import LocalCluster, Partition
from localcluster.kinds.kinds import ServedKind
from localcluster.kueue.profile import CURRENT, GATES_OFF, KueueProfile
from localcluster.kueue.stand_in import LocalKueue
from tests.conformance.client import Api
from tests.conformance.resources import NAMESPACES
from tests.realbed import bed as realbed
from tests.realbed.bed import BedOptions
from tests.realbed.cluster import TURNSTILE_NAMESPACE, RealCluster
from tests.realbed.proxy import Proxy

HUB = "hub"
WORKERS = ("worker-1", "worker-2")
_REQUEST_SECONDS = 30.0


class Cluster(Protocol):
    """One cluster and what a test may do to it."""

    name: str
    api: Api
    """As administrator, on the direct way."""
    way: Proxy
    """How Turnstile gets there."""

    def kubeconfig(self) -> str:
        """Return Turnstile's kubeconfig for this cluster, as a document."""

    def unlimited_kubeconfig(self) -> str:
        """Return the same for a controller that ships no roles of its own."""

    async def kill(self) -> None:
        """End its API server without warning."""

    async def start_again(self) -> None:
        """Bring its API server back, with all objects."""

    async def freeze(self) -> None:
        """Let its API server answer no request, without closing a connection."""

    async def thaw(self) -> None:
        """Let its API server go on."""

    async def restart_kueue(self, *, orchestrated: bool = True, multi_kueue: bool = True) -> None:
        """Restart its Kueue with or without preemption gates, and with or without its own MultiKueue controller."""


class LocalSide:
    """A local cluster with the stand-in for Kueue."""

    def __init__(self, local: LocalCluster, session: aiohttp.ClientSession, way: Proxy) -> None:
        self.name = local.name
        self.local = local
        self.api = Api(session, local.url, local.token)
        self.way = way
        self._kueue = AsyncExitStack()

    def kubeconfig(self) -> str:
        document = yaml.safe_load(self.local.kubeconfig_path.read_text())
        document["clusters"][0]["cluster"]["server"] = self.way.url
        return yaml.safe_dump(document)

    def unlimited_kubeconfig(self) -> str:
        return self.kubeconfig()

    async def kill(self) -> None:
        await self.local.partition(Partition.REFUSED)

    async def start_again(self) -> None:
        await self.local.restart()

    async def freeze(self) -> None:
        self.local.freeze()

    async def thaw(self) -> None:
        self.local.thaw()

    async def restart_kueue(self, *, orchestrated: bool = True, multi_kueue: bool = True) -> None:
        del multi_kueue  # the stand-in has no MultiKueue controller
        await self._kueue.aclose()
        profile: KueueProfile = CURRENT if orchestrated else GATES_OFF
        await self._kueue.enter_async_context(LocalKueue(self.local.store, profile).running())

    async def stop_kueue(self) -> None:
        await self._kueue.aclose()


class RealSide:
    """A real cluster. What takes its time happens in a thread, so that the loop goes on."""

    def __init__(self, real: RealCluster, session: aiohttp.ClientSession, way: Proxy) -> None:
        self.name = real.name
        self.real = real
        self.api = Api(session, real.server.url, real.server.admin_token)
        self.way = way

    def kubeconfig(self) -> str:
        return self.real.turnstile_kubeconfig(self.way.url).read_text()

    def unlimited_kubeconfig(self) -> str:
        return self.real.hub_kubeconfig(self.way.url).read_text()

    async def kill(self) -> None:
        await asyncio.to_thread(self.real.kill)

    async def start_again(self) -> None:
        await asyncio.to_thread(self.real.start_again)

    async def freeze(self) -> None:
        self.real.freeze()

    async def thaw(self) -> None:
        self.real.thaw()

    async def restart_kueue(self, *, orchestrated: bool = True, multi_kueue: bool = True) -> None:
        own = self.real.kueue.options
        gates = {"MultiKueueOrchestratedPreemption": orchestrated, "MultiKueue": multi_kueue}
        changed = replace(own, feature_gates={**own.feature_gates, **gates})
        await asyncio.to_thread(self.real.kueue.restart, changed)

    async def change_kueue_release(self, version: str) -> None:
        """Upgrade or downgrade its Kueue."""
        await asyncio.to_thread(self.real.kueue.change_release, version)


@dataclass(frozen=True, slots=True)
class Clusters:
    """A hub and its workers."""

    hub: Cluster
    workers: Mapping[str, Cluster]


@asynccontextmanager
async def run_local(directory: Path, kinds: tuple[ServedKind, ...] | None = None) -> AsyncIterator[Clusters]:
    """Run local clusters with the stand-in for Kueue."""
    async with AsyncExitStack() as stack:
        sides: dict[str, Cluster] = {}
        for name in (HUB, *WORKERS):
            local = await stack.enter_async_context(LocalCluster(name, directory, kinds=kinds or CURRENT.kinds()))
            session = await _session(stack, local.ca_file)
            side = LocalSide(local, session, stack.enter_context(Proxy(local.port)))
            await side.restart_kueue()
            stack.push_async_callback(side.stop_kueue)
            await side.api.post(NAMESPACES.at(), {"metadata": {"name": TURNSTILE_NAMESPACE}})
            sides[name] = side
        yield Clusters(sides.pop(HUB), sides)


@asynccontextmanager
async def run_real(directory: Path, options: BedOptions | None = None) -> AsyncIterator[Clusters]:
    """Run real clusters; raises `ToolchainError` where they cannot be built."""
    async with AsyncExitStack() as stack:
        opening = realbed.run(directory, options)
        # Starting and stopping block, and belong to the same context manager.
        bed = await asyncio.to_thread(opening.__enter__)
        stack.push_async_callback(asyncio.to_thread, opening.__exit__, None, None, None)
        sides: dict[str, Cluster] = {}
        for real in (bed.hub, *bed.workers.values()):
            session = await _session(stack, real.server.ca_file)
            sides[real.name] = RealSide(real, session, stack.enter_context(Proxy(real.server.port)))
        yield Clusters(sides.pop(HUB), sides)


async def _session(stack: AsyncExitStack, ca_file: Path) -> aiohttp.ClientSession:
    tls = ssl.create_default_context(cafile=str(ca_file))
    limit = aiohttp.ClientTimeout(total=_REQUEST_SECONDS)
    # Loopback: a proxy from the environment must not come between.
    session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=tls), trust_env=False, timeout=limit)
    return await stack.enter_async_context(session)
