"""Answers from the hub's objects alone, for when no daemon answers: the same documents, with less in them.

What only workers and the daemon's memory know is left out, and said to be unknown; nothing is guessed.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from config.api.identifiers import WorkerName
from config.api.meta import NANOSECONDS, Obj, ObjectKey, format_time
from gates.model.activity import CheckRecord, ClusterRecord, ConfigRecord, check_record, cluster_record, config_record
from gates.model.hub_workload import CheckState
from gates.reports.describing import (
    WorkloadCounts,
    overview,
    recorded_forecast,
    recorded_gates,
    workload_document,
)
from gates.reports.explanation import (
    NextKind,
    NextStep,
    OpenGateReport,
    ReplicaReport,
    ReplicaState,
    WorkerExplanation,
    WorkloadExplanation,
    explanation_document,
    next_by_hub,
)
from gates.reports.hub_state import HubReason, HubState, hub_state
from gates.reports.preemptions import running_preemption
from gates.targets.matching import WorkerTraits, exclusion_of
from gates.targets.rules import target_rules
from gates.wire.record_readers import hub_record
from gates.wire.records import CheckEntry, HubRecord
from manager.base.kinds import ADMISSION_CHECKS, CLUSTERS, CONFIGS, WORKLOADS
from manager.cli.conventions.daemon import UnknownError
from manager.clusters.worker_table import resolve_config, traits_of
from manager.journal.timelines import timeline_document
from workerclient.base.errors import NotFound
from workerclient.base.kind import ApiKind
from workerclient.cluster import ClusterClient


async def hub_answer(
    client: ClusterClient, path: Sequence[str], namespace: str | None, *, finished: bool = False
) -> Obj:
    """Answer what the daemon would be asked under that path; raises `UnknownError` or `ClusterError`."""
    view = HubView(client)
    match path:
        case ["overview"]:
            answer = await view.overview(namespace)
        case ["workers"]:
            answer = {"workers": await view.workers()}
        case ["workloads"]:
            answer = {"workloads": await view.workloads(namespace, finished=finished)}
        case ["gates"]:
            answer = {"gates": await view.gates(namespace)}
        case ["forecasts"]:
            answer = {"forecasts": await view.forecasts(namespace)}
        case ["workloads", where, name, "explanation"]:
            answer = await view.explanation(ObjectKey(where, name))
        case ["workloads", where, name, "timeline"]:
            answer = timeline_document(where, name, await view.workload(ObjectKey(where, name)), None)
        case ["jobs", kind, where, name]:
            answer = {"workloads": await view.workloads_of_job(kind, ObjectKey(where, name))}
        case _:
            raise UnknownError(f"the hub cannot answer {'/'.join(path)}; only a daemon can")
    return {"source": "hub", "now": view.now(), **answer}


@dataclass(frozen=True, slots=True)
class HubView:
    """What the hub's objects say about MultiKueue."""

    client: ClusterClient

    def now(self) -> str:
        """Return the hub's time, as far as its answers show it."""
        skew = self.client.skew
        return format_time(time.time_ns() + (round(skew.seconds * NANOSECONDS) if skew is not None else 0))

    async def overview(self, namespace: str | None) -> Obj:
        """Return everything in numbers."""
        checks, records = await self._checks(), await self._records(namespace)
        numbers = WorkloadCounts()
        for record, entry in _active(records, checks):
            result = str(record.forecast.result) if record.forecast is not None else None
            phase = hub_state(record, entry).phase
            numbers.count(phase, [gate["gate"] for gate in _gates(record, entry, checks)], result)
        return overview(await self.workers(), numbers)

    async def workers(self) -> list[Obj]:
        """Return the MultiKueueClusters, by what their condition says."""
        clusters = [cluster_record(raw) for raw in await self._list(CLUSTERS)]
        return [_worker(cluster) for cluster in sorted(clusters, key=lambda cluster: cluster.name)]

    async def workloads(self, namespace: str | None, *, finished: bool = False) -> list[Obj]:
        """Return the Workloads that have a check for MultiKueue; those that are over only if they are asked for."""
        active = _active(await self._records(namespace), await self._checks(), finished=finished)
        return [workload_document(record, entry) for record, entry in active]

    async def gates(self, namespace: str | None) -> list[Obj]:
        """Return the openings that are recorded."""
        checks = await self._checks()
        active = _active(await self._records(namespace), checks)
        return [gate for record, entry in active for gate in _gates(record, entry, checks)]

    async def forecasts(self, namespace: str | None) -> list[Obj]:
        """Return the forecasts that are recorded."""
        active = _active(await self._records(namespace), await self._checks())
        found = (recorded_forecast(record) for record, _ in active)
        return [document for document in found if document is not None]

    async def workload(self, key: ObjectKey) -> HubRecord:
        """Return a Workload; raises `UnknownError`."""
        try:
            raw = await self.client.resource(WORKLOADS).get(key)
        except NotFound:
            raise UnknownError(f"there is no Workload {key} on the hub") from None
        try:
            return hub_record(raw)
        except ValueError as error:
            raise UnknownError(f"Workload {key} cannot be read: {error}") from None

    async def workloads_of_job(self, kind: str, key: ObjectKey) -> list[str]:
        """Return the names of the Workloads that a job owns."""
        return sorted(
            record.name
            for record in await self._records(key.namespace)
            if record.owner is not None and (record.owner.kind, record.owner.name) == (kind, key.name)
        )

    async def explanation(self, key: ObjectKey) -> Obj:
        """Return everything that the hub says about a Workload."""
        record = await self.workload(key)
        checks = await self._checks()
        entry = _entry(record, checks)
        clusters: tuple[WorkerName, ...] = ()
        if entry is not None:
            configs = {each.name: each for each in map(config_record, await self._list(CONFIGS))}
            config = configs.get(checks[entry.name].config)
            clusters = await self._clusters(config) if config is not None else ()
        is_pending = entry is not None and entry.state is CheckState.PENDING
        timeout_ns, state = _timeout_ns(entry, checks), hub_state(record, entry)
        explanation = WorkloadExplanation(
            workers=tuple(_worker_explanation(name, record, state, timeout_ns) for name in clusters),
            next=next_by_hub(state) or _next(record, state),
            gates=_open_gates(record, timeout_ns) if is_pending else (),
        )
        return explanation_document(record, entry, explanation)

    async def _clusters(self, config: ConfigRecord) -> tuple[WorkerName, ...]:
        """Return the clusters that a MultiKueueConfig leads to, as far as their own labels show it."""
        if not config.selector:
            return config.clusters
        records = [cluster_record(raw) for raw in await self._list(CLUSTERS)]
        return resolve_config(config, {each.name: traits_of(None, each) for each in records}).clusters

    async def _checks(self) -> dict[str, CheckRecord]:
        """Return the checks that lead to workers, whichever controller serves them."""
        checks = map(check_record, await self._list(ADMISSION_CHECKS))
        return {check.name: check for check in checks if check.config}

    async def _records(self, namespace: str | None) -> list[HubRecord]:
        found = []
        for raw in await self._list(WORKLOADS, namespace or ""):
            try:
                found.append(hub_record(raw))
            except ValueError:
                continue  # it has annotations that cannot be read; `explain` says which
        return sorted(found, key=lambda record: (record.namespace, record.name))

    async def _list(self, kind: ApiKind, namespace: str = "") -> list[Obj]:
        resource = self.client.resource(kind)
        return [raw async for page in resource.pages(namespace=namespace) for _, raw in page.items]


def _active(
    records: Sequence[HubRecord], checks: Mapping[str, CheckRecord], *, finished: bool = False
) -> list[tuple[HubRecord, CheckEntry | None]]:
    paired = ((record, _entry(record, checks)) for record in records if finished or not record.is_true("Finished"))
    return [(record, entry) for record, entry in paired if entry is not None]


def _entry(record: HubRecord, checks: Mapping[str, CheckRecord]) -> CheckEntry | None:
    return record.check(frozenset(checks))


def _gates(record: HubRecord, entry: CheckEntry | None, checks: Mapping[str, CheckRecord]) -> list[Obj]:
    return recorded_gates(record, _timeout_ns(entry, checks))


def _timeout_ns(entry: CheckEntry | None, checks: Mapping[str, CheckRecord]) -> int | None:
    return checks[entry.name].timeout.timeout_ns if entry is not None else None


def _open_gates(record: HubRecord, timeout_ns: int | None) -> tuple[OpenGateReport, ...]:
    return tuple(
        OpenGateReport(
            opening.cluster, opening.opened_ns, opening.opened_ns + timeout_ns if timeout_ns is not None else None
        )
        for opening in sorted(record.openings, key=lambda opening: (opening.opened_ns, opening.cluster))
    )


def _worker(cluster: ClusterRecord) -> Obj:
    active = cluster.active
    is_active = active is not None and active.is_true
    return {
        "name": cluster.name,
        "connection": "Connected" if is_active else active.reason if active is not None else "Unknown",
        "message": active.message if active is not None else "its condition Active is not set",
        "cordoned": cluster.is_cordoned,
        "lostSince": format_time(active.last_transition_ns) if active is not None and not is_active else "",
        "clockSkewSeconds": None,
        "gates": None,
        "kueue": None,
        "replicas": None,
        "workloads": None,
        "forecast": "",
        "forecastProblem": "",
        "hitRate": None,
        "podForecast": "",
        "podForecastProblem": "",
        "podHitRate": None,
    }


def _worker_explanation(
    name: WorkerName, record: HubRecord, state: HubState, timeout_ns: int | None
) -> WorkerExplanation:
    opening = next((opening for opening in record.openings if opening.cluster == name), None)
    is_open = opening is not None and not record.cluster_name
    preemption = None
    if opening is not None and state.concerns_workers:
        preemption = running_preemption(opening, record.forecast, None, timeout_ns)
    replica = ReplicaReport(_replica_state(name, record))
    named = replace(target_rules(record.targets, {}), selector="")  # only a daemon knows all labels
    exclusion = exclusion_of(named, name, WorkerTraits())
    return WorkerExplanation(name, replica, "Open" if is_open else "", preemption=preemption, exclusion=exclusion)


def _replica_state(name: str, record: HubRecord) -> ReplicaState:
    if name == record.cluster_name:
        return ReplicaState.CHOSEN
    return ReplicaState.NOMINATED if name in record.nominated else ReplicaState.UNKNOWN


def _next(record: HubRecord, state: HubState) -> NextStep:
    if state.reason is HubReason.CHECK_READY and record.cluster_name:
        return NextStep(NextKind.JOB_FOLLOWED, record.cluster_name)
    return NextStep(NextKind.UNKNOWN)
