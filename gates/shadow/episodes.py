"""Follows what another controller does with one Workload, observation by observation: pure, and it decides nothing.

Between two observations the caller keeps `Memory`. A replica with a gate starts when the gate is seen open; one without
a gate when a victim reports that it was preempted for it. Whether two starts break the rule of one cluster per timeout
is judged in favour of the other controller: what a worker says of an eviction is believed.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from config.api.identifiers import WorkerName
from engine.forecasting.forecast import Forecast, unsupported
from engine.forecasting.verification import Evicted, ForecastResult
from gates.assembly.gate_support import GRACE_NS
from gates.decision.ledger import observed_openings
from gates.decision.verifying import judgement_of
from gates.decision.windows import left_by_wall
from gates.model.forecasts import ForecastRecord
from gates.model.hub_workload import HubWorkload
from gates.model.openings import Opening
from gates.model.settings import SECOND, Settings
from gates.model.view import GateSupport, Reach, Replica, WorkerView, WorkloadView
from gates.shadow.hindsight import Breach, Episode, LostWork, PreemptionStart, choices


@dataclass(frozen=True, slots=True)
class CopyEvidence:
    """What the model of one worker saw of one replica."""

    losses: tuple[LostWork, ...] = ()
    is_behind: bool = False
    """It has not seen yet that the replica is gone: more may come."""


@dataclass(frozen=True, slots=True)
class Memory:
    """What is known of one Workload."""

    episode: Episode
    forecasts: Mapping[WorkerName, Forecast] = field(default_factory=dict)
    """By worker: the last forecast that was made before the replica there might preempt."""
    openings: tuple[Opening, ...] = ()
    suspects: tuple[PreemptionStart, ...] = ()
    """Replicas without a gate that have not preempted so far."""

    @property
    def pending(self) -> tuple[PreemptionStart, ...]:
        """Return everything whose end is not known."""
        return (*(start for start in self.episode.starts if start.result is ForecastResult.PENDING), *self.suspects)

    def trial(self, cluster: WorkerName) -> ForecastRecord | None:
        """Return the forecast to hold against what a worker does; None where nothing is under way."""
        start = next((each for each in reversed(self.pending) if each.cluster == cluster), None)
        return record_of(start) if start is not None else None


def observe(
    memory: Memory | None,
    view: WorkloadView,
    evidence: Mapping[WorkerName, CopyEvidence],
    now_ns: int,
    settings: Settings,
) -> Memory | None:
    """Return what is known after an observation; None while the Workload has not been given to any worker."""
    memory = _current(memory, view.workload)
    if memory is None:
        return None
    memory = replace(memory, forecasts=_forecasts(memory, view))
    memory = _note_gates(memory, view, now_ns, settings)
    memory = _note_ungated(memory, view, evidence, now_ns, settings)
    seen = [_with_losses(start, evidence) for start in memory.episode.starts]
    starts = tuple(_judged(start, view, evidence, now_ns, settings) for start in seen)
    return replace(memory, episode=replace(memory.episode, starts=starts))


def loss_of(victim: Evicted, pods: int, running_since_ns: int | None, at_ns: int, start: PreemptionStart) -> LostWork:
    """Return what a victim lost; when it began to run is taken from the forecast if it does not say any more."""
    forecast = start.forecast.victims if start.forecast is not None else ()
    foreseen = next((each.running_since_ns for each in forecast if each.uid == victim.uid), None)
    since_ns = running_since_ns if running_since_ns is not None else foreseen
    seconds = max(0, at_ns - since_ns) // SECOND if since_ns is not None else 0
    return LostWork(f"{victim.namespace}/{victim.name}", victim.uid, victim.reason, pods, seconds)


def record_of(start: PreemptionStart) -> ForecastRecord:
    """Return a start as the record of a forecast."""
    forecast = start.forecast or unsupported("no forecast was ready in time", start.opened_ns)
    return ForecastRecord(start.cluster, start.replica_uid, start.since_ns, forecast, start.result, start.message)


def recalled(episode: Episode) -> Memory:
    """Return what is known of a Workload whose episode was written down; the forecasts are lost."""
    return Memory(episode, openings=tuple(_opening(start) for start in episode.starts))


def due_ns(memory: Memory, view: WorkloadView, now_ns: int, settings: Settings) -> int | None:
    """Return when to observe again: a window ends, or the silence about a gate shows that it is not honoured."""
    pending = (start for start in memory.episode.starts if start.result is ForecastResult.PENDING)
    left = [left_by_wall(start.since_ns, now_ns, settings) for start in pending]
    if any(_is_silent(worker) for worker in view.holders):
        left.append(GRACE_NS + SECOND)
    return min((now_ns + each for each in left if each), default=None)


def _is_silent(worker: WorkerView) -> bool:
    return worker.gates is GateSupport.UNKNOWN and worker.replica is not None and worker.replica.has_gate


def _current(memory: Memory | None, workload: HubWorkload) -> Memory | None:
    """Go on with the attempt that is known, or begin with the one that the hub has begun."""
    if not workload.is_true("QuotaReserved") or workload.check is None:
        return memory if memory is not None and memory.episode.uid == workload.uid else None
    episode = Episode(f"{workload.namespace}/{workload.name}", workload.uid, workload.attempt_ns)
    if memory is None or memory.episode.uid != workload.uid:
        return Memory(episode)
    if memory.episode.attempt_ns == workload.attempt_ns or memory.pending:
        return memory
    return Memory(episode, openings=memory.openings)


def _forecasts(memory: Memory, view: WorkloadView) -> Mapping[WorkerName, Forecast]:
    """Keep what was forecast while nothing could happen yet; for a replica without a gate, what was forecast first."""
    found = dict(memory.forecasts)
    for worker in view.listed:
        forecast, replica = worker.forecast, worker.replica
        if forecast is None or (replica is not None and replica.gate_open):
            continue
        if replica is None or _is_gated(worker, replica) or worker.name not in found:
            found[worker.name] = forecast
    return found


def _note_gates(memory: Memory, view: WorkloadView, now_ns: int, settings: Settings) -> Memory:
    standing = tuple(o for o in memory.openings if not _has_ended(o, view))
    known = WorkloadView(replace(view.workload, openings=standing), view.workers)
    memory = replace(memory, openings=standing)
    for opening in sorted(observed_openings(known), key=lambda each: (each.opened_ns, each.cluster)):
        forecast, opened_ns = memory.forecasts.get(opening.cluster), opening.opened_ns
        start = PreemptionStart(
            opening.cluster, opening.replica_uid, opened_ns, opened_ns, gated=True, forecast=forecast
        )
        memory = _begin(memory, view, start, now_ns, settings)
    return memory


def _has_ended(opening: Opening, view: WorkloadView) -> bool:
    """Believe a worker that its replica was evicted, or is gone in a later attempt: here nothing is opened for it."""
    worker = view.worker(opening.cluster)
    if worker is None or worker.reach is not Reach.SYNCED:
        return False
    replica = worker.replica
    if replica is not None and replica.uid == opening.replica_uid:
        return replica.is_true("Evicted") and replica.since_ns("Evicted") - worker.clock_skew_ns > opening.opened_ns
    return view.workload.attempt_ns > opening.opened_ns


def _note_ungated(
    memory: Memory, view: WorkloadView, evidence: Mapping[WorkerName, CopyEvidence], now_ns: int, settings: Settings
) -> Memory:
    """Suspect every replica without a gate, until it has preempted or is gone."""
    known = {start.replica_uid for start in (*memory.episode.starts, *memory.suspects)}
    suspects = [_with_losses(suspect, evidence) for suspect in memory.suspects]
    for worker in view.holders:
        replica = worker.replica
        if replica is not None and replica.uid not in known and not _is_gated(worker, replica):
            forecast, since_ns = memory.forecasts.get(worker.name), memory.episode.attempt_ns
            suspects.append(
                PreemptionStart(worker.name, replica.uid, since_ns, since_ns, gated=False, forecast=forecast)
            )
    memory = replace(memory, suspects=tuple(s for s in suspects if not s.losses and _may_still(s, view, evidence)))
    for suspect in suspects:
        if suspect.losses:
            memory = _begin(memory, view, replace(suspect, opened_ns=now_ns), now_ns, settings)
    return memory


def _begin(memory: Memory, view: WorkloadView, start: PreemptionStart, now_ns: int, settings: Settings) -> Memory:
    """Add a start, with the breach that it is, and at the first one what each policy would have done."""
    episode = memory.episode
    breaches = [
        Breach(
            other.cluster,
            start.cluster,
            other.opened_ns,
            start.opened_ns,
            gated=start.gated and _was_gated(episode.starts, other),
        )
        for other in memory.openings
        if other.cluster != start.cluster and left_by_wall(other.opened_ns, start.opened_ns, settings) > 0
    ]
    chosen = episode.choices or choices(view, memory.forecasts, start.cluster, now_ns, settings)
    episode = replace(episode, starts=(*episode.starts, start), choices=chosen, breaches=(*episode.breaches, *breaches))
    return replace(memory, episode=episode, openings=(*memory.openings, _opening(start)))


def _judged(
    start: PreemptionStart,
    view: WorkloadView,
    evidence: Mapping[WorkerName, CopyEvidence],
    now_ns: int,
    settings: Settings,
) -> PreemptionStart:
    if start.result is not ForecastResult.PENDING or evidence.get(start.cluster, CopyEvidence()).is_behind:
        return start
    if view.workload.deleted and view.worker(start.cluster) is None:
        return replace(start, result=ForecastResult.OVERTAKEN, message="the Workload is gone", verified_ns=now_ns)
    judgement = judgement_of(record_of(start), view, now_ns, settings)
    if judgement is None:
        return start
    return replace(start, result=judgement.result, message=judgement.message, verified_ns=now_ns)


def _may_still(suspect: PreemptionStart, view: WorkloadView, evidence: Mapping[WorkerName, CopyEvidence]) -> bool:
    """Tell whether a replica without a gate may still preempt, or may have done so unseen."""
    worker = view.worker(suspect.cluster)
    replica = worker.replica if worker is not None else None
    if replica is None or replica.uid != suspect.replica_uid:
        return evidence.get(suspect.cluster, CopyEvidence()).is_behind
    return True


def _with_losses(start: PreemptionStart, evidence: Mapping[WorkerName, CopyEvidence]) -> PreemptionStart:
    """Add who was preempted; what was seen once stays, whatever becomes of the victim."""
    found = evidence.get(start.cluster)
    if found is None or start.result is not ForecastResult.PENDING:
        return start
    known = {loss.uid: loss for loss in found.losses} | {loss.uid: loss for loss in start.losses}
    return replace(start, losses=tuple(sorted(known.values())))


def _was_gated(starts: Iterable[PreemptionStart], opening: Opening) -> bool:
    return all(start.gated for start in starts if start.replica_uid == opening.replica_uid)


def _is_gated(worker: WorkerView, replica: Replica) -> bool:
    return replica.has_gate and worker.gates is not GateSupport.MISSING


def _opening(start: PreemptionStart) -> Opening:
    return Opening(start.cluster, start.replica_uid, start.opened_ns)
