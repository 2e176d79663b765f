"""Reconciles one Workload at a time: snapshot, decision, actions.

Holds no policy: the decision says which actions, in which order, and when to reconcile again. What is remembered
here (the last state of Workloads that are gone, failures in a row) is lost in a restart without harm.
"""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from config.api.meta import ObjectKey, format_time
from gates.assembly.assembling import Snapshot, assemble
from gates.assembly.gate_support import GRACE_NS
from gates.decision.decide import decide
from gates.decision.ledger import is_between_attempts, observed_openings
from gates.model.actions import (
    Action,
    Decision,
    EmitEvent,
    HubAction,
    RecordForecast,
    RecordOpenings,
    StopHubJob,
    WorkerAction,
)
from gates.model.settings import SECOND, Settings
from gates.model.timeouts import with_timeout
from gates.model.view import GateSupport, Reach, WorkloadView
from gates.wire.records import HubRecord
from manager.base.retrying import RetriedOperation
from manager.clusters.hub import HubLink
from manager.clusters.worker import WorkerLink
from manager.logging.logs import begin_cause, get_log
from manager.queueing.action_slots import ActionEffect, ActionSlots
from manager.queueing.backoff import KeyedFailures, is_outrun
from manager.queueing.queue import KeyedQueue
from manager.reconcile.decision_limit import DecisionLimit
from manager.reconcile.hub_writer import HubWriter
from manager.reconcile.job_sync import FOREIGN_SECONDS
from manager.reconcile.local_actions import LocalActions
from manager.reconcile.openings import lets_preempt, may_arrive, opening_start
from manager.reconcile.reconciliation import ExecutedAction, Listeners, Reconciliation
from manager.reconcile.removals import Removals
from manager.reconcile.rules import Rules
from manager.reconcile.snapshots import Snapshots
from manager.reconcile.windows import Windows
from manager.reconcile.worker_writer import WorkerWriter
from workerclient.base.errors import ClusterError
from workerclient.cluster import ClientContext
from workerclient.objects.cache import Unreadable

_HUB_AWAY_SECONDS = 1.0
"""How long to leave a Workload alone while the hub's caches are not complete."""
_PATIENCE_SECONDS = 1.0
"""How long a step waits for a worker before the Workload is left to the next reconcile."""


@dataclass(frozen=True, slots=True)
class Writers:
    """What carries actions out, by where they take effect."""

    hub: HubWriter
    remote: WorkerWriter
    slots: ActionSlots
    removals: Removals
    local: LocalActions


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
        links: Mapping[str, WorkerLink],
        snapshots: Snapshots,
        writers: Writers,
        rules: Rules,
        queue: KeyedQueue[ObjectKey],
        memory: WorkloadMemory,
        *,
        context: ClientContext,
        listeners: Listeners | None = None,
    ) -> None:
        self._windows = memory.windows
        self._decision_limit = memory.decision_limit
        self._hub = hub
        self._links = links
        self._snapshots = snapshots
        self._writers = writers
        self._rules = rules
        self._queue = queue
        self._clock = context.clock
        self._listeners = listeners or Listeners()
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
        wrote = await self._run_steps(key, snapshot, reconciliation)
        if found is None and not decision.actions:
            self._forget(key)
        if wrote:
            self._queue.add(key)  # the watch does not tell us what we wrote ourselves
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

    async def _run_steps(self, key: ObjectKey, snapshot: Snapshot, reconciliation: Reconciliation) -> bool:
        """Carry out a decision as far as it goes and return whether the hub's Workload changed by it."""
        hub = snapshot.hub
        for step in reconciliation.decision.steps:
            remote = [action for action in step.actions if isinstance(action, WorkerAction)]
            local = [action for action in step.actions if not isinstance(action, WorkerAction)]
            tasks = self._start(key, hub, remote, reconciliation)
            hub = await self._write_hub(hub, local, reconciliation)
            if step.best_effort:
                continue
            if len(tasks) < len(remote) or not await self._all_went_well(tasks):
                break
        return hub.resource_version != snapshot.hub.resource_version

    async def _write_hub(
        self, hub: HubRecord, actions: Iterable[HubAction], reconciliation: Reconciliation
    ) -> HubRecord:
        check = reconciliation.group.workload.check
        for action in actions:
            began_ns = self._clock.now_ns()
            before = hub.resource_version
            hub = await self._writers.hub.carry_out(hub, check.name if check is not None else "", action)
            if isinstance(action, RecordOpenings):
                self._windows.wrote(hub, action.openings)
            if before == hub.resource_version and not isinstance(action, EmitEvent | StopHubJob):
                continue  # the hub's Workload was like that already
            self._tell(reconciliation, action, began_ns)
            if isinstance(action, RecordForecast):
                for listener in self._listeners.on_forecast:
                    listener(hub.key, action.record)
        return hub

    def _tell(self, reconciliation: Reconciliation, action: Action, began_ns: int) -> None:
        executed = ExecutedAction(reconciliation, action, began_ns, self._clock.now_ns())
        for listener in self._listeners.on_executed:
            listener(executed)

    def _start(
        self, key: ObjectKey, hub: HubRecord, actions: list[WorkerAction], reconciliation: Reconciliation
    ) -> list[asyncio.Task[bool]]:
        """Begin actions on workers whose slot is free; the others are decided about again when it is."""
        tasks = []
        for action in actions:
            link = self._links.get(action.cluster)
            if link is None or self._writers.slots.is_busy(key, action.cluster):
                # An earlier alarm may have taken the place of the one that was to ring when the rest is over.
                if (rest := self._writers.slots.rest_left(key, action.cluster)) > 0:
                    self._queue.add_after(key, rest)
                continue

            async def carry_out(link: WorkerLink = link, action: WorkerAction = action) -> ActionEffect:
                began_ns = self._clock.now_ns()
                effect = await self._carry_out(link, hub, action)
                if effect is ActionEffect.DONE:
                    self._tell(reconciliation, action, began_ns)
                return effect

            tasks.append(self._writers.slots.start(key, action.cluster, carry_out, opens=lets_preempt(action)))
        return tasks

    async def _carry_out(self, link: WorkerLink, hub: HubRecord, action: WorkerAction) -> ActionEffect:
        """Carry out one action on a worker, and take note of how it ended if it lets the worker preempt."""
        start = opening_start(action)
        try:
            effect = await self._writers.remote.carry_out(link, hub, action)
        except BaseException as error:
            if start is not None:
                self._windows.note_try(hub, *start, may_arrive=may_arrive(error))
            raise
        if start is not None and effect is ActionEffect.DONE:
            self._windows.note_effect(hub, *start)
        elif start is not None:
            self._windows.note_try(hub, *start, may_arrive=False)
        return effect

    async def _all_went_well(self, tasks: list[asyncio.Task[bool]]) -> bool:
        try:
            async with self._clock.timeout(_PATIENCE_SECONDS):
                return all([await asyncio.shield(task) for task in tasks])
        except TimeoutError:
            return False

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
        undecided = (facts for facts in snapshot.workers if facts.replica is not None)
        if any(facts.gates is GateSupport.UNKNOWN for facts in undecided):
            waits.append(GRACE_NS + SECOND)  # a worker that shows no gate by then has none
        if any(facts.foreign_workload or facts.foreign_job for facts in snapshot.workers):
            waits.append(int(FOREIGN_SECONDS * SECOND))  # no watch tells when it is gone
        if waits:
            self._queue.add_after(key, min(waits) / SECOND)

    def _fail(self, key: ObjectKey, error: ClusterError) -> None:
        seconds = self._failures.next_wait(key, error)
        if not is_outrun(error):
            failures = self._failures.count(key)
            get_log().warning("workload.held_up", workload=str(key), error=str(error), failures=failures)
        self._queue.add_after(key, seconds)

    def _wake_sharing(self, record: HubRecord) -> None:
        """Reconcile the other Workloads of a job when one of them has changed."""
        for key in self._hub.sharing(record):
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


def _is_wanted(hub: HubRecord) -> bool:
    return not hub.deleted and not hub.is_true("Finished") and hub.is_true("QuotaReserved")
