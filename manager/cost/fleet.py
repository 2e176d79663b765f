"""The cost controllers of all clusters: one begins when its cluster comes, and ends when it goes."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, NamedTuple

from config.choices import CostPlace
from config.kubeconfig.access import ClusterAccess
from config.settings import Configuration
from engine.cost.models import CostModel
from engine.cost.rules import CostPolicy
from manager.choices import budget_of
from manager.cost.controller import CostController, CostSettings
from manager.cost.metrics import CostMetrics
from manager.cost.propagating import Propagation
from manager.hub import HUB_LIMITS
from manager.logs import get_log
from workerclient.cluster import ClientLimits, Surroundings

HUB: Final = "hub"
_LOOK_AGAIN_SECONDS: Final = 10.0


class Place(NamedTuple):
    """One cluster; a worker may be called what we call the hub."""

    kind: CostPlace
    name: str


HUB_PLACE: Final = Place(CostPlace.HUB, HUB)
Wanted = Callable[[], Awaitable[Mapping[Place, ClusterAccess]]]


class CostFleet:
    """All cost controllers of one process."""

    def __init__(
        self,
        configuration: Configuration,
        model: CostModel,
        wanted: Wanted,
        surroundings: Surroundings,
    ) -> None:
        self._configuration = configuration
        self._model = model
        self._wanted = wanted
        self._surroundings = surroundings
        self._poked = asyncio.Event()
        self._tasks: dict[Place, asyncio.Task[None]] = {}
        self._refused: dict[Place, ClusterAccess] = {}
        """What cannot be used, because its certificates make no sense; said once."""
        self.metrics = CostMetrics()
        self.controllers: dict[Place, CostController] = {}

    def poke(self) -> None:
        """Have the clusters looked at again soon."""
        self._poked.set()

    def reconfigure(self, configuration: Configuration) -> None:
        """Ask more or less of the clusters from now on, and look at them again; what is written waits for a start."""
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
                    await self._look(group)
                    try:
                        async with self._surroundings.clock.timeout(_LOOK_AGAIN_SECONDS):
                            await self._poked.wait()
                    except TimeoutError:
                        continue
            finally:
                for task in self._tasks.values():
                    task.cancel()

    async def _look(self, group: asyncio.TaskGroup) -> None:
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
            except ValueError as error:
                self._refused[place] = access
                get_log().warning("cost.cluster_refused", cluster=place.name, error=str(error))
            else:
                self._refused.pop(place, None)

    def _begin(self, group: asyncio.TaskGroup, place: Place, access: ClusterAccess) -> None:
        settings = self._settings(place)
        controller = CostController(place.name, access, self._surroundings, self._limits(place), settings, self.metrics)
        self.controllers[place] = controller
        self._tasks[place] = group.create_task(controller.run())
        bridges = settings.propagation.bridges
        get_log().info("cost.begun", cluster=place.name, model=settings.policy.model_name, priority_boost=bridges)

    async def _end(self, place: Place) -> None:
        del self.controllers[place]
        task = self._tasks.pop(place)
        task.cancel()
        await asyncio.wait([task])
        get_log().info("cost.ended", cluster=place.name)

    def _settings(self, place: Place) -> CostSettings:
        section = self._configuration.cost_controller
        boost = section.priority_boost
        bridges = boost.hub if place.kind is CostPlace.HUB else place.name in boost.workers
        return CostSettings(
            policy=CostPolicy(self._model, section.model, section.running_increment, section.max_cost),
            refresh_seconds=section.refresh_interval.total_seconds(),
            propagation=Propagation(copies=section.copy_to_workloads, bridges=bridges),
        )

    def _limits(self, place: Place) -> ClientLimits:
        if place.kind is CostPlace.HUB:
            return HUB_LIMITS
        return ClientLimits(budget=budget_of(self._configuration, place.name))
