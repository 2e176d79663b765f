"""One look at one Workload in shadow mode: what another controller did with it, remembered and told."""

from collections.abc import Callable

from config.api.meta import format_time
from gates.assembling import assemble
from gates.hindsight import Episode, News, news
from gates.records import HubRecord
from gates.shadowing import Memory, due_ns, observe, recalled, record_of
from gates.timeouts import with_timeout
from gates.view import Group
from manager.hub import HubLink
from manager.logs import begin_cause, get_log
from manager.queue import KeyedQueue
from manager.reconciler import Rules
from manager.shadow.book import Book
from manager.shadow.forecasts import ShadowForecasts
from manager.shadow.snapshots import ShadowSnapshots
from workerclient.cache import Unreadable
from workerclient.clock import Clock
from workerclient.kind import Key

_HUB_AWAY_SECONDS = 1.0
_FAILED_SECONDS = 60.0


class Watcher:
    """Looks at Workloads and changes nothing."""

    def __init__(
        self,
        hub: HubLink,
        snapshots: ShadowSnapshots,
        forecasts: ShadowForecasts,
        rules: Rules,
        queue: KeyedQueue[Key],
        clock: Clock,
        book: Book,
        on_episode: Callable[[Episode | None, Episode], None],
    ) -> None:
        self._hub = hub
        self._snapshots = snapshots
        self._forecasts = forecasts
        self._rules = rules
        self._queue = queue
        self._clock = clock
        self._book = book
        self._on_episode = on_episode
        self._known: dict[Key, HubRecord] = {}
        self._memories: dict[Key, Memory] = {}
        self._problems: dict[Key, str] = {}

    def memory(self, key: Key) -> Memory | None:
        """Return what is known of a Workload."""
        return self._memories.get(key)

    async def look(self, key: Key) -> None:
        """Take note of how one Workload stands."""
        if not self._hub.is_connected:
            self._queue.add_after(key, _HUB_AWAY_SECONDS)
            return
        begin_cause()
        try:
            self._look(key)
        except Exception as error:  # noqa: BLE001 - the boundary of a task: one Workload must not end the daemon
            get_log().error("workload.failed", workload=str(key), exc_info=error)
            self._queue.add_after(key, _FAILED_SECONDS)

    def _look(self, key: Key) -> None:
        found = self._hub.workload(key)
        if isinstance(found, Unreadable):
            self._complain(key, found.problem)
            return
        record = found or self._known.get(key)
        if record is None:
            return
        now_ns = self._clock.now_ns()
        before = self._memories.get(key) or self._recall(record)
        evidence = self._forecasts.evidence(key, before)
        snapshot = self._snapshots.take(record, departed=found is None)
        group = assemble(snapshot, self._rules.identity, self._rules.settings.managed_by, format_time(now_ns))
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
            self._queue.add_after(key, (due - now_ns) / 1e9)

    def _remember(self, key: Key, before: Memory | None, after: Memory | None) -> None:
        if after is None or not after.episode.starts:
            return
        known = before.episode if before is not None and before.episode.key == after.episode.key else None
        if known == after.episode:
            return
        self._book.put(after.episode)
        found = news(known, after.episode)
        _tell(key, found)
        for start in found.judged:
            self._forecasts.note_record(record_of(start))
        self._on_episode(known, after.episode)

    def _recall(self, record: HubRecord) -> Memory | None:
        """Go on after a restart with what the journal says."""
        reserved = record.conditions.get("QuotaReserved")
        if reserved is None:
            return None
        known = self._book.find((f"{record.namespace}/{record.name}", record.uid, reserved.last_transition_ns))
        return recalled(known) if known is not None else None

    def _forget(self, key: Key) -> None:
        self._known.pop(key, None)
        self._memories.pop(key, None)
        self._problems.pop(key, None)
        self._forecasts.forget(key)

    def _complain(self, key: Key, problem: str) -> None:
        if self._problems.get(key) != problem:
            self._problems[key] = problem
            get_log().warning("workload.unreadable", workload=str(key), problem=problem)


def _tell(key: Key, found: News) -> None:
    """Write a line about each thing that is new."""
    log = get_log()
    for start in found.starts:
        told = str(start.forecast.verdict) if start.forecast is not None else "none"
        log.info("shadow.started", workload=str(key), worker=start.cluster, gated=start.gated, forecast=told)
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
            seconds=(breach.second_ns - breach.first_ns) / 1e9,
            gated=breach.gated,
        )


def _check_of(group: Group) -> str:
    return group.workload.check.name if group.workload.check is not None else ""
