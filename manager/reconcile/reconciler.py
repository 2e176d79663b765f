"""Reconciles one Workload at a time: snapshot, decision, actions.

Holds no policy: the decision says which actions, in which order, and when to reconcile again. What is remembered
here (the last state of Workloads that are gone, failures in a row) is lost in a restart without harm.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from config.api.identifiers import WorkerName
from config.api.meta import ObjectKey, format_time
from config.names import MULTIKUEUE_NAME
from gates.assembly.assembling import Snapshot, WorkerFacts, assemble
from gates.assembly.gate_support import GRACE_NS, HANDLED_GRACE_NS, judge_replica
from gates.decision.decide import decide
from gates.decision.gate_evidence import FRESH_NS
from gates.decision.ledger import is_between_attempts, observed_openings
from gates.model.actions import (
    Decision,
)
from gates.model.settings import SECOND, Settings
from gates.model.timeouts import with_timeout
from gates.model.view import GateSupport, Reach, WorkloadView
from gates.wire.records import HubRecord
from manager.base.retrying import RetriedOperation
from manager.clusters.hub import HubLink
from manager.clusters.worker import WorkerLink
from manager.logging.logs import begin_cause, get_log
from manager.queueing.backoff import KeyedFailures, is_outrun
from manager.queueing.queue import KeyedQueue
from manager.reconcile.decision_limit import DecisionLimit
from manager.reconcile.job_sync import FOREIGN_SECONDS
from manager.reconcile.reconciliation import Listeners, Reconciliation
from manager.reconcile.rules import Rules
from manager.reconcile.snapshots import Snapshots
from manager.reconcile.steps import StepRunner, Writers
from manager.reconcile.windows import Windows
from workerclient.base.errors import ClusterError
from workerclient.cluster import ClientContext
from workerclient.objects.cache import Unreadable

_HUB_AWAY_SECONDS = 1.0
"""How long to leave a Workload alone while the hub's caches are not complete."""


@dataclass(frozen=True, slots=True)
class WorkloadMemory:
    """What this process remembers of Workloads beside their objects."""

    windows: Windows
    decision_limit: DecisionLimit


class Reconciler:
    """Reconciles Workloads."""

    def __init__(
        self,
        hub: HubLink,
        links: Mapping[WorkerName, WorkerLink],
        snapshots: Snapshots,
        writers: Writers,
        rules: Rules,
        queue: KeyedQueue[ObjectKey],
        memory: WorkloadMemory,
        *,
        context: ClientContext,
        listeners: Listeners | None = None,
    ) -> None:
        self._listeners = listeners or Listeners()
        self._windows = memory.windows
        self._decision_limit = memory.decision_limit
        self._hub = hub
        self._links = links
        self._snapshots = snapshots
        self._writers = writers
        self._steps = StepRunner(links, writers, memory.windows, queue, context.clock, self._listeners)
        self._rules = rules
        self._queue = queue
        self._clock = context.clock
        self._known: dict[ObjectKey, HubRecord] = {}
        self._failures: KeyedFailures[ObjectKey] = KeyedFailures(
            RetriedOperation.WORKLOAD, context.jitter, context.on_retry
        )
        self._notes: dict[ObjectKey, tuple[str, ...]] = {}

    async def reconcile(self, key: ObjectKey) -> None:
        """Bring one Workload a step further."""
        if not self._hub.is_connected:
            self._queue.add_after(key, _HUB_AWAY_SECONDS)
            return
        if (rest := self._decision_limit.rest_left(key)) > 0:
            self._queue.add_after(key, rest)
            return
        begin_cause()
        began, failed = self._clock.monotonic(), True
        try:
            await self._reconcile(key)
            failed = False
        except ClusterError as error:
            self._fail(key, error)
        except Exception as error:  # noqa: BLE001 - the boundary of a task: one Workload must not end the daemon
            get_log().error("workload.failed", workload=str(key), exc_info=error)
            self._queue.add_after(key, self._failures.next_wait(key, error))
        else:
            self._failures.forget(key)
        for listener in self._listeners.on_duration:
            listener(self._clock.monotonic() - began, failed)

    async def _reconcile(self, key: ObjectKey) -> None:
        found = self._hub.workload(key)
        if isinstance(found, Unreadable):
            await self._complain(key, found)
            return
        record = found or self._known.get(key)
        if record is None:
            return
        if found is not None and _is_wanted(found) and not self._snapshots.config_is_readable(found):
            # The check says BadConfig, and its config wakes the Workload; what is no longer wanted goes nevertheless.
            return
        self._windows.remember(record)
        now_ns = self._clock.now_ns()
        snapshot, group = self._view(record, now_ns, departed=found is None)
        if group.workload.check is None and not group.workers:
            self._forget(key)
            return
        self._known[key] = record
        if self._decision_limit.is_exceeded(key, len(group.workers)):
            self._back_off(key)
            return
        if self._confirm(record, group):
            snapshot, group = self._view(record, now_ns, departed=found is None)
        if is_between_attempts(group.workload):
            self._windows.saw(record, observed_openings(group))
        settings, policies = self._settings(group), self._rules.policies
        decision = decide(group, now_ns, settings, policies)
        reconciliation = Reconciliation(
            group, now_ns, settings, policies, decision, self._decision_limit.is_repetition(key, decision)
        )
        for listener in self._listeners.on_reconciliation:
            listener(reconciliation)
        self._report(key, reconciliation)
        if self._writers.local.carry_out(snapshot, decision.local_actions):
            self._queue.add(key)
        if self._decision_limit.is_overacted(key, len(group.workers), decision):
            self._put_off(key, decision)
        self._note_removals(key, reconciliation)
        wrote = await self._steps.run(key, snapshot.hub, reconciliation)
        if found is None and not decision.actions:
            self._forget(key)
        if wrote:
            self._queue.add(key)  # the watch does not report our own writes
            self._wake_sharing(record)
        self._requeue(key, snapshot, decision)

    def _view(self, record: HubRecord, now_ns: int, *, departed: bool) -> tuple[Snapshot, WorkloadView]:
        """Return the state of a Workload now, and the view of it that is decided on."""
        snapshot = self._snapshots.take(record, departed=departed, now_ns=now_ns)
        rules = self._rules
        return snapshot, assemble(snapshot, rules.identity, rules.settings.managed_by, format_time(now_ns))

    def _back_off(self, key: ObjectKey) -> None:
        rest = self._decision_limit.rest_left(key)
        get_log().error("workload.decision_loop", workload=str(key), retry_seconds=rest)
        for listener in self._listeners.on_decision_loop:
            listener()
        self._queue.add_after(key, rest)

    def _put_off(self, key: ObjectKey, decision: Decision) -> None:
        names = [type(action).__name__ for action in decision.actions]
        get_log().warning("workload.contended", workload=str(key), rule=decision.rule, actions=names)
        for listener in self._listeners.on_overacted:
            listener()

    def _note_removals(self, key: ObjectKey, reconciliation: Reconciliation) -> None:
        """Remember which workers keep a winner waiting."""
        gone = (w.name for w in reconciliation.group.workers if w.reach is Reach.SYNCED and not w.job_present)
        self._writers.removals.note(key, reconciliation.decision.awaits, gone)

    def _settings(self, view: WorkloadView) -> Settings:
        check = view.workload.check
        return with_timeout(self._rules.settings, self._hub.timeout_of(check.name if check is not None else ""))

    async def _complain(self, key: ObjectKey, found: Unreadable) -> None:
        """Report once what is wrong with a Workload that is malformed."""
        if self._notes.get(key) == (found.problem,):
            return
        self._notes[key] = (found.problem,)
        get_log().error("workload.unreadable", workload=str(key), problem=found.problem)
        await self._writers.hub.warn(found.identity, f"Turnstile leaves this Workload alone: {found.problem}")

    def _confirm(self, hub: HubRecord, view: WorkloadView) -> bool:
        """Remember which recorded openings were seen to take effect, and return whether one is new."""
        is_news = False
        for opening in hub.openings:
            worker = view.worker(opening.cluster)
            if worker is None or worker.replica is None or worker.name not in self._links:
                continue
            if opening.replica_uid == worker.replica.uid and worker.replica.gate_open:
                self._links[worker.name].memory.remember(hub.key).confirmed.add(worker.replica.uid)
            elif opening.replica_uid or worker.replica.has_gate:
                continue
            start = (opening.cluster, opening.replica_uid, opening.opened_ns)
            is_news = self._windows.note_effect(hub, *start) or is_news
        return is_news

    def _report(self, key: ObjectKey, reconciliation: Reconciliation) -> None:
        decision = reconciliation.decision
        if decision.actions and not reconciliation.is_repetition:
            names = [type(action).__name__ for action in decision.actions]
            get_log().info("workload.decided", workload=str(key), rule=decision.rule, actions=names)
        if decision.notes != self._notes.get(key, ()):
            self._notes[key] = decision.notes
            for note in decision.notes:
                get_log().warning("workload.noted", workload=str(key), rule=decision.rule, note=note)

    def _requeue(self, key: ObjectKey, snapshot: Snapshot, decision: Decision) -> None:
        waits = [] if decision.requeue_ns is None else [decision.requeue_ns]
        now_ns = self._clock.now_ns()
        waits.extend(wait for facts in snapshot.workers if (wait := _wait_for_gate(facts, now_ns)))
        if any(facts.foreign_workload or facts.foreign_job for facts in snapshot.workers):
            waits.append(int(FOREIGN_SECONDS * SECOND))  # no watch reports when it is gone
        if waits:
            self._queue.add_after(key, min(waits) / SECOND)

    def _fail(self, key: ObjectKey, error: ClusterError) -> None:
        seconds = self._failures.next_wait(key, error)
        if not is_outrun(error):
            failures = self._failures.count(key)
            get_log().warning("workload.held_up", workload=str(key), error=str(error), failures=failures)
        self._queue.add_after(key, seconds)

    def _wake_sharing(self, record: HubRecord) -> None:
        """Reconcile the other Workloads of a job, or of a group, when one of them has changed."""
        for key in (*self._hub.sharing(record), *self._hub.grouped_with(record)):
            self._decision_limit.note_event(key)
            self._queue.add(key)

    def _forget(self, key: ObjectKey) -> None:
        gone = self._known.pop(key, None)
        if gone is not None:
            self._wake_sharing(gone)
        self._notes.pop(key, None)
        self._writers.slots.forget(key)
        self._writers.removals.forget(key)
        self._decision_limit.forget(key)
        self._windows.forget(key)
        for link in self._links.values():
            link.memory.forget(key)
        for listener in self._listeners.on_forgotten:
            listener(key)


def _wait_for_gate(facts: WorkerFacts, now_ns: int) -> int:
    """Return after which time a replica shows that its gate is not honoured, 0 if that is decided."""
    replica = facts.replica
    if replica is None or MULTIKUEUE_NAME not in replica.spec_gates:
        return 0
    age_ns = now_ns + facts.clock_skew_ns - replica.created_ns
    if judge_replica(replica, facts.dialect, age_ns) is not GateSupport.UNKNOWN:
        return 0
    is_young = age_ns <= FRESH_NS  # of several that show nothing by then, only one stays
    return (HANDLED_GRACE_NS if replica.conditions else FRESH_NS if is_young else GRACE_NS) + SECOND


def _is_wanted(hub: HubRecord) -> bool:
    return not hub.deleted and not hub.is_true("Finished") and hub.is_true("QuotaReserved")
