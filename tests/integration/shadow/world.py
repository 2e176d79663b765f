"""A hub on which another controller is at work, played by the test, and the shadow that looks on.

The workers run the stand-in for Kueue. What the other controller does is written to the clusters' stores, as Kueue's
MultiKueue controller would write it through the API.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from config.api.identifiers import WorkerName
from config.api.meta import ObjectKey
from config.names import MULTIKUEUE_NAME, ORIGIN_LABEL
from config.sections.settings import Configuration
from gates.shadow.hindsight import Episode
from gates.upkeep.leadership import LeaseTimings
from localcluster.access.auth import Allow
from localcluster.kueue.profile import CURRENT, KueueProfile
from localcluster.kueue.stand_in import LocalKueue
from manager.election.leadership import Elector
from manager.shadow.daemon import ShadowDaemon
from manager.shadow.episode_log import EpisodeLog
from tests.integration.orchestrator.forecasting import give, pods, queue
from tests.integration.orchestrator.kueue import KUEUE, NAMESPACE, Cluster
from tests.integration.orchestrator.world import SYSTEM, World, steady, world
from tests.support.builders import Builder
from tests.support.clusters import access_to
from tests.support.virtual_time import until
from workerclient.cluster import ClientContext, ClusterClient

LEASE = "turnstile-shadow"


@dataclass
class ShadowWorld:
    """The clusters and the shadow."""

    clusters: World
    episodes: EpisodeLog = field(default_factory=EpisodeLog)
    told: list[Episode] = field(default_factory=list)
    shadow: ShadowDaemon | None = None
    task: asyncio.Task[None] | None = None
    _voter: ClusterClient | None = None

    def __getitem__(self, name: str) -> Cluster:
        return self.clusters.workers[name]

    @property
    def hub(self) -> Cluster:
        return self.clusters.hub

    # --- the shadow

    def configuration(self) -> Configuration:
        return self.clusters.configuration()

    async def start(self) -> ShadowDaemon:
        """Start the shadow and wait until it knows everything."""
        clock = self.clusters.clock
        client_context = ClientContext(clock, steady, on_retry=self.clusters.retried.append)
        access = access_to(self.hub.local)
        self._voter = ClusterClient("hub", access, client_context)
        elector = Elector(self._voter, ObjectKey(SYSTEM, LEASE), "the shadow", LeaseTimings(), clock, steady)
        self.shadow = ShadowDaemon(
            self.configuration(), access, client_context, self.episodes, elector, on_episode=self.told.append
        )
        self.task = self.clusters.lag.create_task(self.shadow.run())
        await self.until(self._knows_everything)
        return self.shadow

    async def stop(self) -> None:
        """End the shadow."""
        task, self.task, self.shadow = self.task, None, None
        voter, self._voter = self._voter, None
        if voter is not None:
            await voter.close()
        if task is not None:
            task.cancel()
            await asyncio.wait([task])

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait for something that the shadow or a stand-in brings about."""

        def met() -> object:
            if self.task is not None and self.task.done():
                self.task.result()
            return condition()

        await until(met)

    async def passing(self, condition: Callable[[], object], seconds: float = 0.5) -> None:
        """Let time pass until something has happened."""
        for _ in range(400):
            if condition():
                return
            await self.clusters.clock.advance(seconds)
            await asyncio.sleep(0.005)
        raise AssertionError(f"it did not happen: {list(self.episodes)}")

    async def run_on(self, seconds: float) -> None:
        """Let time pass in steps short enough for watches and the Lease to be answered on the way."""
        while seconds > 0:
            step = min(seconds, 2.0)
            await self.clusters.clock.advance(step)
            await asyncio.sleep(0.002)
            seconds -= step

    def _knows_everything(self) -> bool:
        shadow = self.shadow
        if shadow is None or not shadow.hub.is_connected:
            return False
        links = shadow.fleet.links
        return all(
            name in links and links[WorkerName(name)].is_connected and _is_complete(links[WorkerName(name)])
            for name in self.clusters.workers
        )

    # --- the other controller

    def submit(self, name: str = "wl", cpu: int = 4, priority: int = 100) -> None:
        """Let the hub reserve quota for a Workload."""
        self.clusters.submit_ownerless(name, podSets=pods(cpu), priority=priority)
        self.hub.reserve(name)

    def dispatch(self, *names: str, workload: str = "wl", gated: bool = True) -> None:
        """Copy the Workload to workers."""
        found = self.hub.workload(workload)
        for name in names:
            spec = deepcopy(found["spec"])
            if gated:
                spec["preemptionGates"] = [{"name": MULTIKUEUE_NAME}]
            labels = {ORIGIN_LABEL: "multikueue"}
            document = {"metadata": {"name": workload, "labels": labels}, "spec": spec}
            self[name].create("workloads", document, KUEUE, NAMESPACE)

    def asks(self, name: str, workload: str = "wl") -> bool:
        """Return whether a copy asks for its gate."""
        found = self[name].condition("BlockedOnPreemptionGates", workload)
        return found is not None and found["status"] == "True"

    def open(self, name: str, workload: str = "wl") -> None:
        """Open a gate."""
        entry = {"name": MULTIKUEUE_NAME, "position": "Open", "lastTransitionTime": self.hub.now()}
        self[name].set_status(workload, lambda status: status.update(preemptionGates=[entry]))

    def is_admitted(self, name: str, workload: str = "wl") -> bool:
        """Return whether a worker has admitted a Workload."""
        found = self[name].condition("Admitted", workload) if self[name].has_workload(workload) else None
        return found is not None and found["status"] == "True"

    def withdraw(self, *names: str, workload: str = "wl") -> None:
        """Remove copies."""
        for name in names:
            self[name].delete("workloads", workload, KUEUE)

    # --- what was seen

    @property
    def episode(self) -> Episode:
        """Return the only episode."""
        (found,) = self.episodes
        return found

    @property
    def is_settled(self) -> bool:
        """Return whether there is an episode, and all that began is over."""
        return bool(list(self.episodes)) and all(episode.is_settled for episode in self.episodes)


def _is_complete(link: Any) -> bool:
    return link.observation is not None and link.observation.is_complete


@asynccontextmanager
async def shadowing(
    directory: Path,
    setting: dict[str, list[Builder]],
    *,
    profiles: dict[str, KueueProfile] | None = None,
    limited: dict[str, tuple[Allow, ...]] | None = None,
    **options: Any,
) -> AsyncIterator[ShadowWorld]:
    """Run workers with these objects, each with its Kueue, and a shadow that knows all of them."""
    names = tuple(setting)
    found = {name: (profiles or {}).get(name, CURRENT) for name in names}
    kinds = {name: profile.kinds() for name, profile in found.items()}
    hub = {"controller_name": MULTIKUEUE_NAME, "namespace": SYSTEM}
    async with (
        world(
            directory, *names, kinds=kinds, limited=limited, hub=hub, forecast={"enabled": True}, **options
        ) as clusters,
        AsyncExitStack() as stack,
    ):
        made = ShadowWorld(clusters)
        for name, builders in setting.items():
            give(made[name], *builders)
            made[name].shows_gates = False  # its Kueue does, unless the feature is off
            await stack.enter_async_context(LocalKueue(made[name].store, found[name]).running())
        stack.push_async_callback(made.stop)
        await made.start()
        yield made


EMPTY: list[Builder] = [queue()]
