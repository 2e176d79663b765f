"""Observes one Workload in shadow mode: what another controller did with it is remembered and reported."""

from collections.abc import Callable
from dataclasses import dataclass

from config.api.meta import NANOSECONDS, ObjectKey, format_time
from gates.assembly.assembling import assemble
from gates.decision.remembering import to_remember
from gates.model.timeouts import with_timeout
from gates.model.view import WorkloadView
from gates.shadow.episodes import Memory, due_ns, observe, recalled, record_of
from gates.shadow.hindsight import Episode, News, news
from gates.wire.records import HubRecord
from manager.base.retrying import RetriedOperation
from manager.clusters.hub import HubLink
from manager.logging.logs import begin_cause, get_log
from manager.queueing.backoff import KeyedFailures
from manager.queueing.queue import KeyedQueue
from manager.reconcile.forecasts import Forecasts
from manager.reconcile.local_actions import LocalActions
from manager.reconcile.rules import Rules
from manager.reconcile.snapshots import Snapshots
from manager.shadow.episode_log import EpisodeLog
from manager.shadow.evidence import Memories, ShadowEvidence
from workerclient.cluster import ClientContext
from workerclient.objects.cache import Unreadable

_HUB_AWAY_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class ShadowSources:
    """What is observed, and by which rules."""

    hub: HubLink
    snapshots: Snapshots
    forecasts: Forecasts
    local: LocalActions
    evidence: ShadowEvidence
    rules: Rules


@dataclass(frozen=True, slots=True)
class ShadowRecords:
    """Where observations are kept."""

    memories: Memories
    episodes: EpisodeLog
    on_episode: Callable[[Episode | None, Episode], None]
    """Called with an episode as it was before, None for a new one, and as it is now."""


class ShadowReconciler:
    """Observes Workloads and changes nothing."""

    def __init__(
        self, sources: ShadowSources, records: ShadowRecords, queue: KeyedQueue[ObjectKey], context: ClientContext
    ) -> None:
        self._hub = sources.hub
        self._snapshots = sources.snapshots
        self._forecasts = sources.forecasts
        self._local = sources.local
        self._evidence = sources.evidence
        self._rules = sources.rules
        self._memories = records.memories
        self._episodes = records.episodes
        self._on_episode = records.on_episode
        self._queue = queue
        self._clock = context.clock
        self._failures: KeyedFailures[ObjectKey] = KeyedFailures(
            RetriedOperation.WORKLOAD, context.jitter, context.on_retry
        )
        self._known: dict[ObjectKey, HubRecord] = {}
        self._problems: dict[ObjectKey, str] = {}

    async def reconcile(self, key: ObjectKey) -> None:
        """Observe one Workload."""
        if not self._hub.is_connected:
            self._queue.add_after(key, _HUB_AWAY_SECONDS)
            return
        begin_cause()
        try:
            self._observe(key)
        except Exception as error:  # noqa: BLE001 - the boundary of a task: one Workload must not end the daemon
            get_log().error("workload.failed", workload=str(key), exc_info=error)
            self._queue.add_after(key, self._failures.next_wait(key, error))
        else:
            self._failures.forget(key)

    def _observe(self, key: ObjectKey) -> None:
        found = self._hub.workload(key)
        if isinstance(found, Unreadable):
            self._complain(key, found.problem)
            return
        record = found or self._known.get(key)
        if record is None:
            return
        now_ns = self._clock.now_ns()
        before = self._memories.get(key) or self._recall(record)
        evidence = self._evidence.of(key, before)
        snapshot = self._snapshots.take(record, departed=found is None, now_ns=now_ns)
        group = assemble(snapshot, self._rules.identity, self._rules.settings.managed_by, format_time(now_ns))
        if self._local.carry_out(snapshot, to_remember(group)):
            self._queue.add(key)
        if group.workload.check is None and before is None:
            return
        settings = with_timeout(self._rules.settings, self._hub.timeout_of(_check_of(group)))
        after = observe(before, group, evidence, now_ns, settings)
        if after is None or (found is None and not after.pending):
            self._remember(key, before, after)
            self._forget(key)
            return
        self._known[key] = record
        self._remember(key, before, after)
        self._memories[key] = after
        if before is None or after.pending != before.pending:
            self._queue.add(key)  # what began is followed from now on
        due = due_ns(after, group, now_ns, settings)
        if due is not None:
            self._queue.add_after(key, (due - now_ns) / NANOSECONDS)

    def _remember(self, key: ObjectKey, before: Memory | None, after: Memory | None) -> None:
        if after is None or not after.episode.starts:
            return
        known = before.episode if before is not None and before.episode.key == after.episode.key else None
        if known == after.episode:
            return
        self._episodes.put(after.episode)
        found = news(known, after.episode)
        _tell(key, found)
        for start in found.judged:
            self._forecasts.history.note_record(record_of(start))
        self._on_episode(known, after.episode)

    def _recall(self, record: HubRecord) -> Memory | None:
        """Go on after a restart with what the journal says."""
        reserved = record.conditions.get("QuotaReserved")
        if reserved is None:
            return None
        known = self._episodes.find((f"{record.namespace}/{record.name}", record.uid, reserved.last_transition_ns))
        return recalled(known) if known is not None else None

    def _forget(self, key: ObjectKey) -> None:
        self._known.pop(key, None)
        self._memories.pop(key, None)
        self._problems.pop(key, None)
        self._forecasts.forget(key)

    def _complain(self, key: ObjectKey, problem: str) -> None:
        if self._problems.get(key) != problem:
            self._problems[key] = problem
            get_log().error("workload.unreadable", workload=str(key), problem=problem)


def _tell(key: ObjectKey, found: News) -> None:
    """Write a line about each thing that is new."""
    log = get_log()
    for start in found.starts:
        forecast = str(start.forecast.verdict) if start.forecast is not None else "none"
        log.info("shadow.started", workload=str(key), worker=start.cluster, gated=start.gated, forecast=forecast)
    for start in found.judged:
        log.info(
            "shadow.verified",
            workload=str(key),
            worker=start.cluster,
            result=str(start.result),
            message=start.message,
            victims=[loss.workload for loss in start.losses],
        )
    for breach in found.breaches:
        log.warning(
            "shadow.breach",
            workload=str(key),
            first=breach.first,
            second=breach.second,
            seconds=(breach.second_ns - breach.first_ns) / NANOSECONDS,
            gated=breach.gated,
        )


def _check_of(view: WorkloadView) -> str:
    return view.workload.check.name if view.workload.check is not None else ""
