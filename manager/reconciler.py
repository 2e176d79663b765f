"""One look at one Workload: snapshot, decision, actions.

Holds no policy: which actions, in which order and when to look again is the decision's to say. What is remembered
here (the last state of Workloads that are gone, failures in a row) is lost in a restart without harm.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from config.api.meta import format_time
from gates.actions import (
    Action,
    CreateReplica,
    DeactivateReplica,
    Decision,
    HubAction,
    OpenGate,
    RecordForecast,
    RemoveRemote,
    SyncJob,
    UpdateReplicaSpec,
    WorkerAction,
)
from gates.assembling import Snapshot, assemble
from gates.decide import decide
from gates.forecasts import ForecastRecord
from gates.marks import HubIdentity
from gates.records import HubRecord
from gates.settings import SECOND, Settings, UngatedPolicy
from gates.support import GRACE_NS
from gates.timeouts import with_timeout
from gates.view import GateSupport, Group
from manager.hub import HubLink
from manager.hubwrites import HubHand
from manager.lanes import Lanes
from manager.logs import begin_cause, get_log
from manager.patience import is_outrun, rest_seconds
from manager.queue import KeyedQueue
from manager.remote import FOREIGN_SECONDS, RemoteHand
from manager.snapshots import Snapshots
from manager.worker import WorkerLink
from workerclient.backoff import Jitter
from workerclient.cache import Unreadable
from workerclient.clock import Clock
from workerclient.errors import ClusterError
from workerclient.kind import Key

_WORKER_ACTIONS = (RemoveRemote, CreateReplica, UpdateReplicaSpec, OpenGate, DeactivateReplica, SyncJob)
_HUB_AWAY_SECONDS = 1.0
"""How long to leave a Workload alone while the hub's caches are not complete."""
_PATIENCE_SECONDS = 1.0
"""How long a step waits for a worker before the Workload is left to be looked at again."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What decisions depend on beside the state."""

    identity: HubIdentity
    settings: Settings
    policies: Mapping[str, UngatedPolicy]


@dataclass(frozen=True, slots=True)
class Look:
    """One look at one Workload: everything that the decision depended on, and the decision."""

    group: Group
    now_ns: int
    settings: Settings
    policies: Mapping[str, UngatedPolicy]
    decision: Decision


@dataclass(frozen=True, slots=True)
class Deed:
    """An action that was carried out, on the look that led to it, and when."""

    look: Look
    action: Action
    began_ns: int
    ended_ns: int


@dataclass(frozen=True, slots=True)
class Listeners:
    """Whom a reconciler tells what it does; the callbacks return at once."""

    on_look: tuple[Callable[[Look], None], ...] = ()
    on_deed: tuple[Callable[[Deed], None], ...] = ()
    on_duration: tuple[Callable[[float, bool], None], ...] = ()
    """Called after every look with the seconds that it took and whether it failed."""
    on_forecast: tuple[Callable[[Key, ForecastRecord], None], ...] = ()
    """Called after the record of a forecast was written."""
    on_forgotten: tuple[Callable[[Key], None], ...] = ()


@dataclass(frozen=True, slots=True)
class Hands:
    """The ways to act."""

    hub: HubHand
    remote: RemoteHand
    lanes: Lanes


@dataclass(frozen=True, slots=True)
class Pulse:
    """Time and chance."""

    clock: Clock
    jitter: Jitter


class Reconciler:
    """Looks at Workloads."""

    def __init__(
        self,
        hub: HubLink,
        links: Mapping[str, WorkerLink],
        snapshots: Snapshots,
        hands: Hands,
        rules: Rules,
        queue: KeyedQueue[Key],
        pulse: Pulse,
        *,
        listeners: Listeners | None = None,
    ) -> None:
        self._hub = hub
        self._links = links
        self._snapshots = snapshots
        self._hands = hands
        self._rules = rules
        self._queue = queue
        self._clock = pulse.clock
        self._jitter = pulse.jitter
        self._listeners = listeners or Listeners()
        self._known: dict[Key, HubRecord] = {}
        self._failures: dict[Key, int] = {}
        self._notes: dict[Key, tuple[str, ...]] = {}

    async def look(self, key: Key) -> None:
        """Bring one Workload a step further."""
        if not self._hub.is_connected:
            self._queue.add_after(key, _HUB_AWAY_SECONDS)
            return
        begin_cause()
        began, failed = self._clock.monotonic(), True
        try:
            await self._reconcile(key)
            failed = False
        except ClusterError as error:
            self._fail(key, error)
        except Exception as error:  # noqa: BLE001 - the boundary of a task: one Workload must not end the daemon
            self._failures[key] = self._failures.get(key, 0) + 1
            get_log().error("workload.failed", workload=str(key), exc_info=error)
            self._queue.add_after(key, min(300.0, 5.0 * 2.0 ** min(self._failures[key], 6)))
        else:
            self._failures.pop(key, None)
        for listener in self._listeners.on_duration:
            listener(self._clock.monotonic() - began, failed)

    async def _reconcile(self, key: Key) -> None:
        found = self._hub.workload(key)
        if isinstance(found, Unreadable):
            await self._complain(key, found)
            return
        record = found or self._known.get(key)
        if record is None:
            return
        if found is not None and _is_wanted(found) and not self._snapshots.config_is_readable(found):
            return  # the check says BadConfig, and its config wakes the Workload; what nobody wants goes nevertheless
        snapshot = self._snapshots.take(record, departed=found is None)
        group = assemble(snapshot, self._rules.identity, self._rules.settings.managed_by, self._now())
        if group.workload.check is None and not group.workers:
            self._forget(key)
            return
        self._known[key] = record
        self._confirm(key, group)
        now_ns, settings, policies = self._clock.now_ns(), self._settings(group), self._rules.policies
        decision = decide(group, now_ns, settings, policies)
        look = Look(group, now_ns, settings, policies, decision)
        for listener in self._listeners.on_look:
            listener(look)
        self._report(key, decision)
        wrote = await self._run_steps(key, snapshot, look)
        if found is None and not decision.actions:
            self._forget(key)
        if wrote:
            self._queue.add(key)  # the watch does not tell us what we wrote ourselves
            for sibling in snapshot.siblings:
                self._queue.add(Key(sibling.namespace, sibling.name))
        self._requeue(key, snapshot, decision)

    def _settings(self, group: Group) -> Settings:
        check = group.workload.check
        return with_timeout(self._rules.settings, self._hub.timeout_of(check.name if check is not None else ""))

    async def _complain(self, key: Key, found: Unreadable) -> None:
        """Say once what is wrong with a Workload that makes no sense."""
        if self._notes.get(key) == (found.problem,):
            return
        self._notes[key] = (found.problem,)
        get_log().error("workload.unreadable", workload=str(key), problem=found.problem)
        await self._hands.hub.warn(found.identity, f"Turnstile leaves this Workload alone: {found.problem}")

    def _confirm(self, key: Key, group: Group) -> None:
        """Remember which recorded openings were seen to take effect."""
        for opening in group.workload.openings:
            worker = group.worker(opening.cluster)
            if worker is None or worker.replica is None or not worker.replica.gate_open:
                continue
            if worker.replica.uid == opening.replica_uid and worker.name in self._links:
                self._links[worker.name].remember(key).confirmed.add(worker.replica.uid)

    async def _run_steps(self, key: Key, snapshot: Snapshot, look: Look) -> bool:
        """Carry out a decision as far as it goes and return whether the hub's Workload changed by it."""
        hub = snapshot.hub
        for step in look.decision.steps:
            remote = [action for action in step.actions if isinstance(action, _WORKER_ACTIONS)]
            local = [action for action in step.actions if not isinstance(action, _WORKER_ACTIONS)]
            tasks = self._start(key, hub, remote, look)
            hub = await self._write_hub(hub, local, look)
            if step.best_effort:
                continue
            if len(tasks) < len(remote) or not await self._all_went_well(tasks):
                break
        return hub is not snapshot.hub

    async def _write_hub(self, hub: HubRecord, actions: Iterable[HubAction], look: Look) -> HubRecord:
        check = look.group.workload.check
        for action in actions:
            began_ns = self._clock.now_ns()
            hub = await self._hands.hub.carry_out(hub, check.name if check is not None else "", action)
            self._tell(look, action, began_ns)
            if isinstance(action, RecordForecast):
                for listener in self._listeners.on_forecast:
                    listener(Key(hub.namespace, hub.name), action.record)
        return hub

    def _tell(self, look: Look, action: Action, began_ns: int) -> None:
        deed = Deed(look, action, began_ns, self._clock.now_ns())
        for listener in self._listeners.on_deed:
            listener(deed)

    def _start(self, key: Key, hub: HubRecord, actions: list[WorkerAction], look: Look) -> list[asyncio.Task[bool]]:
        """Begin actions on workers whose lane is free; the others are decided about again when it is."""
        tasks = []
        for action in actions:
            link = self._links.get(action.cluster)
            if link is None or self._hands.lanes.is_busy(key, action.cluster):
                # An earlier alarm may have taken the place of the one that was to ring when the rest is over.
                if (rest := self._hands.lanes.rest_left(key, action.cluster)) > 0:
                    self._queue.add_after(key, rest)
                continue

            async def carry_out(link: WorkerLink = link, action: WorkerAction = action) -> None:
                began_ns = self._clock.now_ns()
                if await self._hands.remote.carry_out(link, hub, action):
                    self._tell(look, action, began_ns)

            tasks.append(self._hands.lanes.start(key, action.cluster, carry_out))
        return tasks

    async def _all_went_well(self, tasks: list[asyncio.Task[bool]]) -> bool:
        try:
            async with self._clock.timeout(_PATIENCE_SECONDS):
                return all([await asyncio.shield(task) for task in tasks])
        except TimeoutError:
            return False

    def _report(self, key: Key, decision: Decision) -> None:
        if decision.actions:
            names = [type(action).__name__ for action in decision.actions]
            get_log().info("workload.decided", workload=str(key), rule=decision.rule, actions=names)
        if decision.notes != self._notes.get(key, ()):
            self._notes[key] = decision.notes
            for note in decision.notes:
                get_log().warning("workload.noted", workload=str(key), rule=decision.rule, note=note)

    def _requeue(self, key: Key, snapshot: Snapshot, decision: Decision) -> None:
        waits = [] if decision.requeue_ns is None else [decision.requeue_ns]
        undecided = (facts for facts in snapshot.workers if facts.replica is not None)
        if any(facts.gates is GateSupport.UNKNOWN for facts in undecided):
            waits.append(GRACE_NS + SECOND)  # a worker that shows no gate by then has none
        if any(facts.foreign_workload or facts.foreign_job for facts in snapshot.workers):
            waits.append(int(FOREIGN_SECONDS * SECOND))  # nobody tells when it is gone
        if waits:
            self._queue.add_after(key, min(waits) / SECOND)

    def _fail(self, key: Key, error: ClusterError) -> None:
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        if not is_outrun(error):
            get_log().warning("workload.held_up", workload=str(key), error=str(error), failures=failures)
        self._queue.add_after(key, rest_seconds(error, failures, self._jitter))

    def _forget(self, key: Key) -> None:
        self._known.pop(key, None)
        self._notes.pop(key, None)
        self._hands.lanes.forget(key)
        for link in self._links.values():
            link.memory.pop(key, None)
        for listener in self._listeners.on_forgotten:
            listener(key)

    def _now(self) -> str:
        return format_time(self._clock.now_ns())


def _is_wanted(hub: HubRecord) -> bool:
    return not hub.deleted and not hub.is_true("Finished") and hub.is_true("QuotaReserved")
