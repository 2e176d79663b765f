"""The cost controllers of all clusters: one begins when its cluster comes, and ends when it goes."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, NamedTuple

from config.api.identifiers import WorkerName
from config.kubeconfig.access import ClusterAccess
from config.sections.settings import Configuration
from config.types.choices import CostPlace
from engine.cost.models import CostModel
from engine.cost.rules import CostPolicy
from manager.base.from_configuration import budget_of
from manager.base.memory_limits import everything
from manager.clusters.hub import HUB_LIMITS
from manager.cost.controller import CostController, CostSettings
from manager.cost.metrics import CostMetrics
from manager.cost.propagating import CostPropagation
from manager.logging.logs import get_log
from manager.process.supervision import misunderstanding, supervise
from workerclient.cluster import ClientContext, ClientLimits

HUB: Final = "hub"
_LOOK_AGAIN_SECONDS: Final = 10.0


class CostCluster(NamedTuple):
    """One cluster; a worker may have the hub's name."""

    kind: CostPlace
    name: str


HUB_PLACE: Final = CostCluster(CostPlace.HUB, HUB)
Wanted = Callable[[], Awaitable[Mapping[CostCluster, ClusterAccess]]]


class CostFleet:
    """All cost controllers of one process."""

    def __init__(
        self,
        configuration: Configuration,
        model: CostModel,
        wanted: Wanted,
        context: ClientContext,
    ) -> None:
        self._configuration = configuration
        self._model = model
        self._wanted = wanted
        self._client_context = context
        self._poked = asyncio.Event()
        self._tasks: dict[CostCluster, asyncio.Task[None]] = {}
        self._refused: dict[CostCluster, ClusterAccess] = {}
        """Clusters with unusable certificates; logged once."""
        self.metrics = CostMetrics()
        self.controllers: dict[CostCluster, CostController] = {}

    def poke(self) -> None:
        """Check the clusters again soon."""
        self._poked.set()

    def reconfigure(self, configuration: Configuration) -> None:
        """Apply new request budgets and check the clusters again; what is written changes only after a restart."""
        self._configuration = configuration
        for place, controller in self.controllers.items():
            controller.client.change_budget(self._limits(place).budget)
        self.poke()

    async def run(self) -> None:
        """Keep the controllers in step with the clusters until cancelled."""
        async with asyncio.TaskGroup() as group:
            try:
                while True:
                    self._poked.clear()
                    await self._refresh(group)
                    try:
                        async with self._client_context.clock.timeout(_LOOK_AGAIN_SECONDS):
                            await self._poked.wait()
                    except TimeoutError:
                        continue
            finally:
                for task in self._tasks.values():
                    task.cancel()

    async def _refresh(self, group: asyncio.TaskGroup) -> None:
        wanted = await self._wanted()
        for place in [place for place in self.controllers if place not in wanted]:
            await self._end(place)
        for place, access in wanted.items():
            known = self.controllers.get(place)
            if access in (known.access if known is not None else None, self._refused.get(place)):
                continue
            try:
                if known is None:
                    self._begin(group, place, access)
                else:
                    known.reconfigure(access)
            except Exception as error:  # noqa: BLE001 - the boundary around one cluster
                problem = str(error) if isinstance(error, ValueError) else misunderstanding(error)
                self._refused[place] = access
                get_log().warning("cost.cluster_refused", cluster=place.name, error=problem)
            else:
                self._refused.pop(place, None)

    def _begin(self, group: asyncio.TaskGroup, place: CostCluster, access: ClusterAccess) -> None:
        settings = self._settings(place)
        controller = CostController(
            place.name, access, self._client_context, self._limits(place), settings, self.metrics
        )
        self.controllers[place] = controller
        self._tasks[place] = group.create_task(self._supervised(controller))
        bridges = settings.propagation.bridges
        get_log().info("cost.begun", cluster=place.name, model=settings.policy.model_name, priority_boost=bridges)

    async def _supervised(self, controller: CostController) -> None:
        clock, jitter = self._client_context.clock, self._client_context.jitter
        await supervise(controller.name, controller, clock, jitter, "cost.cluster_failed")

    async def _end(self, place: CostCluster) -> None:
        del self.controllers[place]
        task = self._tasks.pop(place)
        task.cancel()
        await asyncio.wait([task])
        get_log().info("cost.ended", cluster=place.name)

    def _settings(self, place: CostCluster) -> CostSettings:
        section = self._configuration.cost_controller
        boost = section.priority_boost
        bridges = boost.hub if place.kind is CostPlace.HUB else place.name in boost.workers
        return CostSettings(
            policy=CostPolicy(self._model, section.model, section.running_increment, section.max_cost),
            refresh_seconds=section.refresh_interval.total_seconds(),
            propagation=CostPropagation(copies=section.copy_to_workloads, bridges=bridges),
        )

    def _limits(self, place: CostCluster) -> ClientLimits:
        if place.kind is CostPlace.HUB:
            return HUB_LIMITS
        return ClientLimits(budget=budget_of(self._configuration, WorkerName(place.name)), holdings=everything)
