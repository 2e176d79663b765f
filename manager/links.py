"""Makes the connection to a worker out of what the configuration says of it."""

from collections.abc import Mapping
from functools import partial
from typing import Final

from config.kubeconfig.access import ClusterAccess
from config.settings import Configuration
from engine.configuration import KueueConfiguration
from gates.jobs.kinds import JobKind
from manager.choices import budget_of
from manager.kueue_configuration import load_kueue_configuration
from manager.observation import Observation
from manager.pod_forecasts import PodForecasts
from manager.pod_observation import PodObservation, mode_given
from manager.wakeups import Wakeups
from manager.worker import Notices, WorkerLink
from workerclient.budget import BudgetLimits
from workerclient.cluster import ClientLimits, Surroundings

_Forecasting = tuple[KueueConfiguration | None, bool, str]
_DEFAULTS: Final[_Forecasting] = (None, False, "")


class LinkMaker:
    """Knows the configuration in force."""

    def __init__(
        self,
        configuration: Configuration,
        kueues: Mapping[str, KueueConfiguration],
        surroundings: Surroundings,
        origin: str,
        kinds: tuple[JobKind, ...],
        wakeups: Wakeups,
    ) -> None:
        self._configuration = configuration
        self._kueues = kueues
        self._surroundings = surroundings
        self._origin = origin
        self._kinds = kinds
        self._wakeups = wakeups

    def change(self, configuration: Configuration, kueues: Mapping[str, KueueConfiguration]) -> set[str]:
        """Go on with another configuration, and return the workers whose connection has to be made anew for it."""
        before = {name: self._forecasting(name) for name in self._names()}
        self._configuration, self._kueues = configuration, kueues
        after = {name: self._forecasting(name) for name in self._names()}
        return {name for name in {*before, *after} if before.get(name, _DEFAULTS) != after.get(name, _DEFAULTS)}

    def budget(self, name: str) -> BudgetLimits:
        """Return what may be asked of a worker."""
        return budget_of(self._configuration, name)

    def make(self, name: str, access: ClusterAccess) -> WorkerLink:
        """Make the connection to a worker."""
        observation = self._observe(name, access)
        return WorkerLink(
            name,
            access,
            self._surroundings,
            ClientLimits(budget=self.budget(name)),
            self._origin,
            self._kinds,
            Notices(self._wakeups.remote_workload, self._wakeups.remote_job, self._wakeups.worker),
            observation,
            pods=None if observation is None else self._observe_pods(name, access, observation),
        )

    def _observe(self, name: str, access: ClusterAccess) -> Observation | None:
        if not self._configuration.forecast.enabled:
            return None
        kueue = self._kueues.get(name) or load_kueue_configuration(None)
        return Observation(name, access, self._surroundings, kueue, self._wakeups.remote_workload)

    def _observe_pods(self, name: str, access: ClusterAccess, observation: Observation) -> PodForecasts | None:
        options = self._configuration.worker(name)
        if options is None or not options.pod_forecast:
            return None
        mode = mode_given(options.pod_forecast_mode)
        observe = partial(PodObservation, name, access, self._surroundings, mode)
        return PodForecasts(observation.cluster, self._wakeups.remote_workload, observe)

    def _names(self) -> set[str]:
        return {*self._kueues, *(worker.name for worker in self._configuration.workers)}

    def _forecasting(self, name: str) -> _Forecasting:
        """Return what forecasts about a worker depend on; a worker without an entry is as one with the defaults."""
        options = self._configuration.worker(name)
        kueue = self._kueues.get(name)
        if options is None or not options.pod_forecast:
            return kueue, False, ""
        return kueue, True, options.pod_forecast_mode
