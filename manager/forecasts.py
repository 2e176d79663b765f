"""What the forecasts have to say about one Workload on one worker, and how often they were right there.

Only what is going to be looked at is forecast: replicas that ask for their gate, and, under policies and dispatchers
that compare workers, those that wait elsewhere. A forecast that fails never keeps a gate from being looked at.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from config.api.meta import format_time
from config.sections import Forecast as ForecastSection
from engine.forecasting.forecast import Forecast, unsupported
from engine.forecasting.verification import Result
from engine.outlook.values import PodOutlook
from engine.outlook.values import unsupported as unsupported_pods
from gates.actions import Decision, PatchHubStatus
from gates.forecasts import ForecastRecord, Witness
from gates.marks import HubIdentity
from gates.pod_records import PodWitness
from gates.records import HubRecord, ReplicaRecord
from gates.reliability import is_reliable
from gates.replicas import replica_of
from gates.settings import Dispatcher, GatePolicy, Settings
from gates.view import Group
from manager.logs import get_log
from manager.observation import Observation, Sight
from manager.pod_forecasts import PodForecasts
from manager.worker import WorkerLink
from workerclient.clock import Clock
from workerclient.kind import Key

_KEPT_PER_WORKER: Final = 4
"""How many times the window of results is remembered, because not all results are counted."""


@dataclass(frozen=True, slots=True)
class Insight:
    """What is known about one Workload on one worker beside its objects."""

    forecast: Forecast | None = None
    is_reliable: bool = True
    witness: Witness | None = None
    pods: PodOutlook | None = None
    pod_witness: PodWitness | None = None


_NOTHING: Final = Insight()


class Forecasts:
    """Asks the observations of all workers."""

    def __init__(
        self,
        section: ForecastSection,
        settings: Settings,
        identity: HubIdentity,
        links: Mapping[str, WorkerLink],
        clock: Clock,
    ) -> None:
        self._identity = identity
        self._links = links
        self._clock = clock
        self._results: dict[str, deque[Result]] = {}
        self._pod_results: dict[str, deque[Result]] = {}
        self.reconfigure(section, settings)

    def reconfigure(self, section: ForecastSection, settings: Settings) -> None:
        """Go on with other settings; the results so far are kept."""
        self._section = section
        self._foresees = settings.dispatcher is Dispatcher.FORECAST_FIRST
        self._compares = self._foresees or settings.policy is not GatePolicy.FIRST_COME_FIRST_SERVED
        size = section.hit_rate_window * _KEPT_PER_WORKER
        self._results = _resized(self._results, size)
        self._pod_results = _resized(self._pod_results, size)

    def about(
        self, link: WorkerLink, hub: HubRecord, replica: ReplicaRecord | None, *, on_demand: bool = False
    ) -> Insight:
        """Return what there is to know before a decision about a Workload; on demand also what no decision needs."""
        observation = link.observation
        if observation is None:
            return _NOTHING
        try:
            found = self._forecast(observation, link, hub, replica, on_demand=on_demand)
            witness = self._witness(observation, link, hub, replica)
        except Exception as error:  # noqa: BLE001 - a mistake in a forecast must not keep gates closed
            get_log().error("forecast.failed", worker=link.name, workload=f"{hub.namespace}/{hub.name}", exc_info=error)
            found, witness = unsupported(f"{type(error).__name__}: {error}", self._clock.now_ns()), None
        insight = Insight(found, self.is_reliable(link.name), witness)
        return insight if link.pods is None else self._with_pods(link.pods, link, hub, replica, insight, on_demand)

    def is_reliable(self, worker: str) -> bool:
        """Tell whether the forecasts for a worker may be used."""
        results = self._results.get(worker, ())
        return is_reliable(tuple(results), self._section.minimum_hit_rate, self._section.hit_rate_window)

    def results(self, worker: str) -> tuple[Result, ...]:
        """Return the last results for a worker, oldest first."""
        return tuple(self._results.get(worker, ()))

    def pod_results(self, worker: str) -> tuple[Result, ...]:
        """Return the last results of outlooks for the pods on a worker, oldest first."""
        return tuple(self._pod_results.get(worker, ()))

    def note_decision(self, group: Group, decision: Decision) -> None:
        """Keep quota promised only on the worker that was chosen."""
        if not self._foresees:
            return
        nominated = next((a.nominated for a in decision.actions if isinstance(a, PatchHubStatus) and a.nominated), ())
        chosen = nominated or group.workload.nominated
        key = Key(group.workload.namespace, group.workload.name)
        for name, link in self._links.items():
            if link.observation is not None and chosen != (name,):
                link.observation.forget_promises((key,))

    def note_record(self, record: ForecastRecord) -> None:
        """Take a record that was written, and its result if it has one."""
        if record.result is Result.PENDING:
            return
        size = self._section.hit_rate_window * _KEPT_PER_WORKER
        if record.pods is not None and record.pods.verified_ns is not None:
            # The quota was counted when it was judged, which is always before its pods are.
            self._pod_results.setdefault(record.cluster, deque(maxlen=size)).append(record.pods.result)
            return
        was_reliable = self.is_reliable(record.cluster)
        self._results.setdefault(record.cluster, deque(maxlen=size)).append(record.result)
        if was_reliable != self.is_reliable(record.cluster):
            state = "unreliable" if was_reliable else "reliable"
            get_log().warning("forecasts.judged", worker=record.cluster, forecast=state)

    def forget(self, key: Key) -> None:
        """Keep nothing of a Workload that is gone."""
        for link in self._links.values():
            if link.observation is not None:
                link.observation.forget(key)
            if link.pods is not None:
                link.pods.forget(key)

    def _forecast(
        self,
        observation: Observation,
        link: WorkerLink,
        hub: HubRecord,
        replica: ReplicaRecord | None,
        *,
        on_demand: bool,
    ) -> Forecast | None:
        now_ns, skew_ns = self._clock.now_ns(), link.clock_skew_ns
        if replica is None:
            wanted = _is_waiting(hub) if on_demand else self._foresees and _waits_for_dispatch(hub)
            if not wanted:
                return None
            copy = self._copy(hub, now_ns + skew_ns)
            return observation.foresee(copy, now_ns, skew_ns, holds=not on_demand)
        sight = _sight(replica, link)
        over = any(_is_true(replica, name) for name in ("QuotaReserved", "Finished", "Evicted"))
        if over or not (on_demand or self._compares or sight.asked_ns is not None):
            return None
        return observation.forecast(sight, now_ns, skew_ns)

    def _witness(
        self, observation: Observation, link: WorkerLink, hub: HubRecord, replica: ReplicaRecord | None
    ) -> Witness | None:
        record = hub.forecast
        if record is None or record.cluster != link.name or record.result is not Result.PENDING:
            observation.end_trial(Key(hub.namespace, hub.name))
            return None
        if replica is None or replica.uid != record.replica_uid:
            observation.forget(Key(hub.namespace, hub.name))
            return None
        return observation.witness(_sight(replica, link), record.opened_ns, record.forecast, link.clock_skew_ns)

    def _with_pods(
        self,
        pods: PodForecasts,
        link: WorkerLink,
        hub: HubRecord,
        replica: ReplicaRecord | None,
        insight: Insight,
        on_demand: bool,
    ) -> Insight:
        """Add what there is to know about the pods: only for a gate that may open now, or when somebody asks."""
        now_ns, skew_ns = self._clock.now_ns(), link.clock_skew_ns
        asks = replica is not None and link.dialect.signal_ns(replica.conditions) is not None
        try:
            outlook = pods.outlook(hub, insight.forecast, now_ns, skew_ns) if asks or on_demand else None
            witness = self._pod_witness(pods, link, hub, replica)
        except Exception as error:  # noqa: BLE001 - a mistake in an outlook must not keep gates closed
            get_log().error(
                "podforecast.failed", worker=link.name, workload=f"{hub.namespace}/{hub.name}", exc_info=error
            )
            outlook, witness = unsupported_pods(f"{type(error).__name__}: {error}", now_ns), None
        return replace(insight, pods=outlook, pod_witness=witness)

    def _pod_witness(
        self, pods: PodForecasts, link: WorkerLink, hub: HubRecord, replica: ReplicaRecord | None
    ) -> PodWitness | None:
        record, key = hub.forecast, Key(hub.namespace, hub.name)
        if record is None or record.pods is None or record.cluster != link.name:
            pods.end_trial(key)
            return None
        if record.pods.result is not Result.PENDING or replica is None or replica.uid != record.replica_uid:
            pods.end_trial(key)
            return None
        return pods.witness(hub, record.pods, replica.uid, record.opened_ns, link.clock_skew_ns)

    def _copy(self, hub: HubRecord, now_ns: int) -> dict[str, object]:
        raw = replica_of(hub, self._identity, gated=True)
        raw["metadata"] = {**raw["metadata"], "uid": hub.uid, "creationTimestamp": format_time(now_ns)}
        return raw


def _sight(replica: ReplicaRecord, link: WorkerLink) -> Sight:
    key = Key(replica.namespace, replica.name)
    return Sight(key, replica.uid, replica.resource_version, link.dialect.signal_ns(replica.conditions))


def _is_true(replica: ReplicaRecord, name: str) -> bool:
    condition = replica.conditions.get(name)
    return condition is not None and condition.status == "True"


def _is_waiting(hub: HubRecord) -> bool:
    return bool(hub.document) and not hub.cluster_name and not hub.deleted


def _waits_for_dispatch(hub: HubRecord) -> bool:
    return _is_waiting(hub) and not hub.nominated and hub.is_true("QuotaReserved")


def _resized(kept: dict[str, deque[Result]], size: int) -> dict[str, deque[Result]]:
    return {worker: deque(results, maxlen=size) for worker, results in kept.items()}
