"""Carries out the steps of one decision: what goes to workers side by side, what goes to the hub in order.

A step that others build on is waited for; what is not done in time is left to the next reconcile.
"""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from config.api.identifiers import WorkerName
from config.api.meta import ObjectKey
from gates.model.actions import (
    Action,
    EmitEvent,
    HubAction,
    RecordForecast,
    RecordOpenings,
    RecordWinner,
    StopHubJob,
    WorkerAction,
)
from gates.wire.records import HubRecord
from manager.clusters.worker import WorkerLink
from manager.queueing.action_slots import ActionEffect, ActionSlots
from manager.queueing.queue import KeyedQueue
from manager.reconcile.hub_writer import HubWriter
from manager.reconcile.local_actions import LocalActions
from manager.reconcile.openings import lets_preempt, may_arrive, opening_start
from manager.reconcile.reconciliation import ExecutedAction, Listeners, Reconciliation
from manager.reconcile.removals import Removals
from manager.reconcile.windows import Windows
from manager.reconcile.worker_writer import WorkerWriter
from workerclient.base.clock import Clock

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


class StepRunner:
    """Carries out decisions, one step after the other."""

    def __init__(
        self,
        links: Mapping[WorkerName, WorkerLink],
        writers: Writers,
        windows: Windows,
        queue: KeyedQueue[ObjectKey],
        clock: Clock,
        listeners: Listeners,
    ) -> None:
        self._links = links
        self._writers = writers
        self._windows = windows
        self._queue = queue
        self._clock = clock
        self._listeners = listeners

    async def run(self, key: ObjectKey, found: HubRecord, reconciliation: Reconciliation) -> bool:
        """Carry out a decision as far as it goes and return whether the hub's Workload changed by it."""
        hub = found
        for step in reconciliation.decision.steps:
            remote = [action for action in step.actions if isinstance(action, WorkerAction)]
            local = [action for action in step.actions if not isinstance(action, WorkerAction)]
            tasks = self._start(key, hub, remote, reconciliation)
            hub = await self._write_hub(hub, local, reconciliation)
            if step.best_effort:
                continue
            if len(tasks) < len(remote) or not await self._all_went_well(tasks):
                break
        return hub.resource_version != found.resource_version

    async def _write_hub(
        self, hub: HubRecord, actions: Iterable[HubAction], reconciliation: Reconciliation
    ) -> HubRecord:
        check = reconciliation.group.workload.check
        for action in actions:
            began_ns = self._clock.now_ns()
            before = hub.resource_version
            hub = await self._writers.hub.carry_out(hub, check.name if check is not None else "", action)
            if isinstance(action, RecordOpenings | RecordWinner) and action.openings is not None:
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
