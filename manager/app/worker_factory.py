"""Makes the connection to a worker from what the configuration in force says about it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from config.kubeconfig.access import ClusterAccess
from config.sections.settings import Configuration
from config.types.choices import PodForecastMode
from engine.objects.configuration import KueueConfiguration
from manager.base.from_configuration import KueueConfigurations, budget_of
from manager.base.kueue_configuration import load_kueue_configuration
from manager.base.memory_limits import copies_of
from manager.clusters.worker import WorkerContext, WorkerLink, WorkerModels
from manager.models.observation import Observation
from manager.models.pod_forecasts import PodForecasts
from manager.models.pod_observation import PodObservation, mode_given
from manager.process.worker_thread import WorkerThread
from workerclient.cluster import ClientLimits
from workerclient.transport.budget import BudgetLimits

_Forecasting = tuple[KueueConfiguration | None, PodForecastMode | None]
"""The Configuration of its Kueue if a file is named, and the rules for pods if these are forecast."""
_DEFAULTS: Final[_Forecasting] = (None, None)


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """What is modelled of the workers, as far as the configuration switches it on."""

    with_pods: bool = True
    tells_victims: bool = False


class WorkerLinkFactory:
    """Makes connections to workers."""

    def __init__(
        self,
        configuration: Configuration,
        kueues: KueueConfigurations,
        context: WorkerContext,
        workloads_on_hub: Callable[[], int],
        options: ModelOptions,
    ) -> None:
        self._configuration = configuration
        self._kueues = kueues
        self._context = context
        self._workloads_on_hub = workloads_on_hub
        self._options = options
        self._thread = WorkerThread("forecasts")
        self._known = self._all_forecasting()

    def change(self, configuration: Configuration) -> set[str]:
        """Go by another configuration, and return the workers that need a new connection for it."""
        self._configuration = configuration
        before, self._known = self._known, self._all_forecasting()
        names = {*before, *self._known}
        return {name for name in names if before.get(name, _DEFAULTS) != self._known.get(name, _DEFAULTS)}

    def budget(self, name: str) -> BudgetLimits:
        """Return the request budget of a worker."""
        return budget_of(self._configuration, name)

    def make(self, name: str, access: ClusterAccess) -> WorkerLink:
        """Make the connection to a worker."""
        limits = ClientLimits(budget=self.budget(name), holdings=copies_of(self._workloads_on_hub))
        return WorkerLink(name, access, limits, self._context, self._models(name, access))

    def _models(self, name: str, access: ClusterAccess) -> WorkerModels:
        if not self._configuration.forecast.enabled:
            return WorkerModels()
        observation = Observation(
            name,
            access,
            self._context.client,
            self._kueues.of(name) or load_kueue_configuration(None),
            self._context.notices.on_workload,
            self._thread,
            tells_victims=self._options.tells_victims,
        )
        return WorkerModels(observation, self._pods(name, access, observation))

    def _pods(self, name: str, access: ClusterAccess, observation: Observation) -> PodForecasts | None:
        _, mode = self._forecasting(name)
        if mode is None:
            return None
        observe = partial(PodObservation, name, access, self._context.client, mode_given(mode))
        return PodForecasts(observation.cluster, observation.background, self._context.notices.on_workload, observe)

    def _all_forecasting(self) -> dict[str, _Forecasting]:
        names = {*self._kueues.workers(), *(worker.name for worker in self._configuration.workers)}
        return {name: self._forecasting(name) for name in names}

    def _forecasting(self, name: str) -> _Forecasting:
        """Return what forecasts about a worker depend on; a worker without an entry has the defaults."""
        options = self._configuration.worker(name)
        kueue = self._kueues.of(name)
        if options is None or not (options.pod_forecast and self._options.with_pods):
            return kueue, None
        return kueue, options.pod_forecast_mode
