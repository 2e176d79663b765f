"""Makes the connection to a worker from what the configuration in force says about it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from config.api.identifiers import WorkerName
from config.kubeconfig.access import ClusterAccess
from config.sections.settings import Configuration
from config.types.choices import PodForecastMode
from engine.objects.configuration import KueueConfiguration
from gates.detection.detected import DetectedKueue
from manager.base.from_configuration import KueueConfigurations, budget_of, ungated_policy_of
from manager.base.kueue_configuration import (
    KueueConfigurationError,
    detected_configuration,
    load_kueue_configuration,
    switches_gates,
)
from manager.base.memory_limits import copies_of
from manager.clusters.worker import WorkerLink
from manager.clusters.worker_context import WorkerContext, WorkerModels
from manager.logging.logs import get_log
from manager.models.observation import Observation
from manager.models.pod_forecasts import PodForecasts
from manager.models.pod_observation import PodObservation, mode_given
from manager.process.worker_thread import WorkerThread
from workerclient.cluster import ClientLimits
from workerclient.transport.budget import BudgetLimits


@dataclass(frozen=True, slots=True)
class ForecastOptions:
    """What forecasts about one worker depend on."""

    kueue: KueueConfiguration | None = None
    """The Configuration of its Kueue, if it is known."""
    pod_mode: PodForecastMode | None = None
    """The rules for pods, if these are forecast."""
    kueue_version: str = ""
    """The version of its Kueue, if it is named."""
    follows_topology: bool = False


_DEFAULTS: Final = ForecastOptions()


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """What is modelled of the workers, as far as the configuration switches it on."""

    with_pods: bool = True
    reports_victims: bool = False


class WorkerLinkFactory:
    """Makes connections to workers."""

    def __init__(
        self,
        configuration: Configuration,
        kueues: KueueConfigurations,
        context: WorkerContext,
        workloads_on_hub: Callable[[], int],
        options: ModelOptions,
        renew: Callable[[Iterable[WorkerName]], None] = lambda _: None,
    ) -> None:
        """`renew` gives workers a new connection."""
        self._configuration = configuration
        self._kueues = kueues
        self._context = context
        self._workloads_on_hub = workloads_on_hub
        self._options = options
        self._renew = renew
        self._detected: dict[WorkerName, KueueConfiguration] = {}
        self._thread = WorkerThread("forecasts")
        self._known = self._all_forecasting()

    def change(self, configuration: Configuration) -> set[WorkerName]:
        """Go by another configuration, and return the workers that need a new connection for it."""
        self._configuration = configuration
        before, self._known = self._known, self._all_forecasting()
        names = {*before, *self._known}
        return {name for name in names if before.get(name, _DEFAULTS) != self._known.get(name, _DEFAULTS)}

    def budget(self, name: WorkerName) -> BudgetLimits:
        """Return the request budget of a worker."""
        return budget_of(self._configuration, name)

    def make(self, name: WorkerName, access: ClusterAccess) -> WorkerLink:
        """Make the connection to a worker."""
        limits = ClientLimits(budget=self.budget(name), holdings=copies_of(self._workloads_on_hub))
        context = replace(
            self._context,
            ungated_policy=lambda: ungated_policy_of(self._configuration, name),
            kueue_version=self._kueue_version(name),
            on_kueue=partial(self._learn, name),
        )
        link = WorkerLink(name, access, limits, context, self._models(name, access))
        link.gates.configure(is_on=switches_gates(self._kueues.of(name)))
        return link

    def _models(self, name: WorkerName, access: ClusterAccess) -> WorkerModels:
        if not self._configuration.forecast.enabled:
            return WorkerModels()
        observation = Observation(
            name,
            access,
            self._context.client,
            self._kueue(name) or load_kueue_configuration(None),
            self._context.notices.on_workload,
            self._thread,
            follows_topology=self._forecasting(name).follows_topology,
            reports_victims=self._options.reports_victims,
        )
        return WorkerModels(observation, self._pods(name, access, observation))

    def _pods(self, name: WorkerName, access: ClusterAccess, observation: Observation) -> PodForecasts | None:
        mode = self._forecasting(name).pod_mode
        if mode is None:
            return None
        observe = partial(PodObservation, name, access, self._context.client, mode_given(mode))
        return PodForecasts(observation.cluster, observation.background, self._context.notices.on_workload, observe)

    def _all_forecasting(self) -> dict[WorkerName, ForecastOptions]:
        names = {*self._kueues.workers(), *self._detected, *(worker.name for worker in self._configuration.workers)}
        return {name: self._forecasting(name) for name in names}

    def _forecasting(self, name: WorkerName) -> ForecastOptions:
        """Return what forecasts about a worker depend on; a worker without an entry has the defaults."""
        options = self._configuration.worker(name)
        with_pods = options is not None and options.pod_forecast and self._options.with_pods
        return ForecastOptions(
            kueue=self._kueue(name),
            pod_mode=options.pod_forecast_mode if options is not None and with_pods else None,
            kueue_version=self._kueue_version(name),
            follows_topology=options is not None and options.topology,
        )

    def _kueue(self, name: WorkerName) -> KueueConfiguration | None:
        """Return how a worker's Kueue is configured, as detected or as the configuration says; None if not known."""
        return self._detected.get(name) or self._kueues.of(name)

    def _learn(self, name: WorkerName, found: DetectedKueue) -> None:
        """Take which Kueue a worker runs; forecasts by another version or Configuration need a new model."""
        try:
            detected = detected_configuration(found, self._kueues.of(name))
        except KueueConfigurationError as error:
            get_log().warning("forecasts.configuration_unusable", worker=name, error=str(error))
            return
        before = self._kueue(name)
        if detected is None:
            self._detected.pop(name, None)
        else:
            self._detected[name] = detected
        if self._kueue(name) != before and self._configuration.forecast.enabled:
            self._known[name] = self._forecasting(name)
            self._renew([name])

    def _kueue_version(self, name: WorkerName) -> str:
        options = self._configuration.worker(name)
        return options.kueue_version or "" if options is not None else ""
