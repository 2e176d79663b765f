"""What the forecasts have to say about one Workload on one worker, and how often they were right there.

Only what a decision needs is forecast: replicas that ask for their gate, and, under policies and dispatchers
that compare workers, those that wait elsewhere. A forecast that fails never keeps a gate from being decided on.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from config.api.identifiers import WorkerName
from config.api.meta import ObjectKey, format_time
from config.sections.sections import ForecastSection
from engine.forecasting.forecast import Forecast, unsupported
from engine.forecasting.verification import ForecastResult
from engine.objects.workloads import AdmittedWorkload
from engine.pod_outlook.values import unsupported as unsupported_pods
from engine.vocabulary.effort import Effort
from gates.model.dialect import gate_requested_ns
from gates.model.forecasts import ForecastRecord, Witness
from gates.model.local_actions import WorkerNews
from gates.model.settings import Dispatcher, GatePolicy
from gates.wire.records import HubRecord, ReplicaRecord
from gates.wire.replicas import replica_of
from manager.clusters.worker import WorkerLink
from manager.logging.logs import get_log
from manager.models.forecast_answer import ForecastAnswer, ReplicaVersion
from manager.models.observation import Observation
from manager.process.worker_thread import Work, WorkerThread
from manager.reconcile.forecast_history import ForecastHistory
from manager.reconcile.insight import NO_INSIGHT, ForecastScope, Insight
from manager.reconcile.pod_insight import pods_to_follow, with_pods, witness_of_pods
from manager.reconcile.rules import Rules
from workerclient.base.clock import Clock


class Forecasts:
    """Asks the observations of all workers."""

    def __init__(
        self,
        section: ForecastSection,
        rules: Rules,
        links: Mapping[WorkerName, WorkerLink],
        clock: Clock,
        scope: ForecastScope | None = None,
    ) -> None:
        self.history = ForecastHistory(section)
        self._rules = rules
        self._identity = rules.identity
        self._links = links
        self._clock = clock
        self._scope = scope or ForecastScope()

    @property
    def _foresees(self) -> bool:
        return self._rules.settings.dispatcher is Dispatcher.FORECAST_FIRST

    @property
    def _compares(self) -> bool:
        return self._foresees or self._rules.settings.policy is not GatePolicy.FIRST_COME_FIRST_SERVED

    def about(
        self,
        link: WorkerLink,
        hub: HubRecord,
        replica: ReplicaRecord | None,
        effort: Effort,
        now_ns: int,
    ) -> Insight:
        """Return what there is to know before a decision about a Workload; nothing changes by it.

        What takes more than the effort that is left is offered as a request.
        """
        observation = link.observation
        if observation is None:
            return NO_INSIGHT
        try:
            found = self._forecast(observation, link, hub, replica, effort, now_ns)
            witness, behind = self._witness(observation, link, hub, replica)
        except Exception as error:  # noqa: BLE001 - a mistake in a forecast must not keep gates closed
            get_log().error("forecast.failed", worker=link.name, workload=f"{hub.namespace}/{hub.name}", exc_info=error)
            failed = unsupported(f"{type(error).__name__}: {error}", now_ns)
            found, witness, behind = ForecastAnswer(failed), None, None
        insight = Insight(
            found.forecast,
            self.history.is_reliable(link.name),
            max(found.wait_ns, observation.wait_ns(hub.key)) if found.forecast is None else 0,
            witness,
            requests=tuple(request for request in (found.request, behind) if request is not None),
            promise=found.promise,
        )
        if link.pods is not None:
            insight = with_pods(link.pods, link, hub, replica, insight, effort, now_ns, always=self._scope.all_workers)
        return replace(insight, news=self._news(observation, link, hub, replica, insight))

    def _news(
        self,
        observation: Observation,
        link: WorkerLink,
        hub: HubRecord,
        replica: ReplicaRecord | None,
        insight: Insight,
    ) -> frozenset[WorkerNews]:
        """Return what there is to decide about beside the gate."""
        record, uid = self._record(hub, link), replica.uid if replica is not None else ""
        followed, wanted = observation.trials.followed(hub.key), _replica_to_follow(record, link, uid)
        found = {
            WorkerNews.FORECAST_REQUESTED: bool(insight.requests),
            WorkerNews.PROMISE_OFFERED: insight.promise is not None,
            WorkerNews.PROMISE_HELD: observation.promises.holds(hub.key),
            WorkerNews.FORECAST_BEGUN: wanted not in ("", followed),
            WorkerNews.FORECAST_ENDED: bool(followed) and not wanted and not self._is_behind(observation, link, hub),
        }
        if link.pods is not None:
            followed, wanted = link.pods.followed(hub.key), pods_to_follow(hub.forecast, link, uid)
            found[WorkerNews.POD_FORECAST_BEGUN] = wanted not in ("", followed)
            found[WorkerNews.POD_FORECAST_ENDED] = bool(followed) and not wanted
        return frozenset(news for news, is_so in found.items() if is_so)

    def _record(self, hub: HubRecord, link: WorkerLink) -> ForecastRecord | None:
        """Return what was forecast for the last opening, if that was on this worker."""
        record = self._scope.trial_of(hub, link.name)
        return record if record is not None and record.cluster == link.name else None

    def _is_behind(self, observation: Observation, link: WorkerLink, hub: HubRecord) -> bool:
        """Return whether the model has yet to see that a replica is gone, and what happened until then."""
        record = self._record(hub, link)
        if not self._scope.waits_for_model or record is None or isinstance(link.replica(hub.key), ReplicaRecord):
            return False
        return observation.still_has(hub.key, record.replica_uid)

    def follow(self, link: WorkerLink, hub: HubRecord, replica: ReplicaRecord | None) -> None:
        """Follow the forecast that the last opening was made on."""
        record = self._record(hub, link)
        if link.observation is not None and replica is not None and record is not None:
            link.observation.follow(_version(replica, link), record.forecast, link.clock_skew_ns)

    def unfollow(self, link: WorkerLink, hub: HubRecord) -> None:
        """Follow no forecast any longer; of a replica that went before it was judged nothing is kept."""
        record = self._record(hub, link)
        if link.observation is None:
            return
        if record is not None and record.result is ForecastResult.PENDING:
            link.observation.forget(hub.key)
        else:
            link.observation.trials.end(hub.key)

    def follow_pods(self, link: WorkerLink, hub: HubRecord, replica: ReplicaRecord | None) -> None:
        """Follow the pods that the last opening leads to."""
        record = hub.forecast
        if link.pods is not None and replica is not None and record is not None and record.pods is not None:
            link.pods.follow(hub, record.pods, replica.uid)

    def unfollow_pods(self, link: WorkerLink, hub: HubRecord) -> None:
        """Follow no pods any longer."""
        if link.pods is not None:
            link.pods.end_trial(hub.key)

    def hold(self, key: ObjectKey, worker: WorkerName, promise: AdmittedWorkload) -> None:
        """Hold quota for a Workload on one worker, and on no other."""
        for name, link in self._links.items():
            if link.observation is None:
                continue
            if name == worker:
                link.observation.promises.hold(key, promise)
            else:
                link.observation.promises.release(key)

    def release(self, key: ObjectKey, worker: WorkerName) -> None:
        """Hold no quota for a Workload on a worker any longer."""
        link = self._links.get(worker)
        if link is not None and link.observation is not None:
            link.observation.promises.release(key)

    async def about_everything(
        self, link: WorkerLink, hub: HubRecord, replica: ReplicaRecord | None, thread: WorkerThread
    ) -> Insight:
        """Return what there is to know, also what no decision needs; all thinking happens in a thread."""
        if link.observation is None:
            return NO_INSIGHT
        now_ns, where = self._clock.now_ns(), {"worker": link.name, "workload": f"{hub.namespace}/{hub.name}"}
        try:
            witness, _ = self._witness(link.observation, link, hub, replica)
            found = await thread.run(self._asking(link.observation, link, hub, replica))
        except Exception as error:  # noqa: BLE001 - a mistake about one worker must not hide the others
            get_log().error("forecast.failed", **where, exc_info=error)
            found, witness = unsupported(f"{type(error).__name__}: {error}", now_ns), None
        insight = Insight(found, self.history.is_reliable(link.name), witness=witness)
        if link.pods is None:
            return insight
        try:
            pod_witness = witness_of_pods(link.pods, link, hub, replica)
            ask = link.pods.outlook_of_now(hub, found, now_ns, link.clock_skew_ns)
            outlook = await thread.run(lambda _: ask())
        except Exception as error:  # noqa: BLE001 - a mistake in an outlook must not hide what is known beside it
            get_log().error("podforecast.failed", **where, exc_info=error)
            outlook, pod_witness = unsupported_pods(f"{type(error).__name__}: {error}", now_ns), None
        return replace(insight, pods=outlook, pod_witness=pod_witness)

    def _asking(
        self, observation: Observation, link: WorkerLink, hub: HubRecord, replica: ReplicaRecord | None
    ) -> Callable[[Work], Forecast | None]:
        """Return what makes a forecast in any thread, for queries."""
        now_ns, skew_ns = self._clock.now_ns(), link.clock_skew_ns
        if not self._scope.includes(hub):
            return lambda _: None
        if replica is None:
            if not _is_waiting(hub):
                return lambda _: None
            return observation.asking_of_copy(self._copy(hub, now_ns + skew_ns), now_ns, skew_ns)
        if any(_is_true(replica, name) for name in ("QuotaReserved", "Finished", "Evicted")):
            return lambda _: None
        return observation.asking(_version(replica, link), now_ns, skew_ns)

    def forget(self, key: ObjectKey) -> None:
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
        effort: Effort,
        now_ns: int,
    ) -> ForecastAnswer:
        skew_ns = link.clock_skew_ns
        if not self._scope.includes(hub):
            return ForecastAnswer()
        if replica is None:
            wanted = _is_waiting(hub) if self._scope.all_workers else self._foresees and _waits_for_dispatch(hub)
            if not wanted:
                return ForecastAnswer()
            return observation.foresee(self._copy(hub, now_ns + skew_ns), hub.document, now_ns, skew_ns, effort)
        version = _version(replica, link)
        over = any(_is_true(replica, name) for name in ("QuotaReserved", "Finished", "Evicted"))
        if over or not (self._scope.all_workers or self._compares or version.asked_ns is not None):
            return ForecastAnswer()
        return observation.forecast(version, now_ns, skew_ns, effort)

    def _witness(
        self, observation: Observation, link: WorkerLink, hub: HubRecord, replica: ReplicaRecord | None
    ) -> tuple[Witness | None, Callable[[], None] | None]:
        """Return what happened after the last opening; if the model is behind, what has the Workload woken instead."""
        record = self._record(hub, link)
        if record is None or replica is None or not _replica_to_follow(record, link, replica.uid):
            return None, None
        version = _version(replica, link)
        return observation.witness(version, record.opened_ns, link.clock_skew_ns), observation.catching_up(version)

    def _copy(self, hub: HubRecord, now_ns: int) -> dict[str, object]:
        raw = replica_of(hub, self._identity, gated=True)
        raw["metadata"] = {**raw["metadata"], "uid": hub.uid, "creationTimestamp": format_time(now_ns)}
        return raw


def _version(replica: ReplicaRecord, link: WorkerLink) -> ReplicaVersion:
    key = replica.key
    return ReplicaVersion(
        key, replica.uid, replica.resource_version, gate_requested_ns(replica.conditions, link.dialect)
    )


def _replica_to_follow(record: ForecastRecord | None, link: WorkerLink, uid: str) -> str:
    """Return the UID of the replica if a forecast about it is yet to be judged; empty otherwise."""
    is_about = record is not None and (record.cluster, record.replica_uid) == (link.name, uid)
    return uid if is_about and record is not None and record.result is ForecastResult.PENDING else ""


def _is_true(replica: ReplicaRecord, name: str) -> bool:
    condition = replica.conditions.get(name)
    return condition is not None and condition.status == "True"


def _is_waiting(hub: HubRecord) -> bool:
    return bool(hub.document) and not hub.cluster_name and not hub.deleted


def _waits_for_dispatch(hub: HubRecord) -> bool:
    return _is_waiting(hub) and not hub.nominated and hub.is_true("QuotaReserved")
