"""A hub and its workers in virtual time: copies to all workers, gates by the orchestrator's own decision, or no gates.

Without gates every worker on which a copy is pending preempts; the first that admits wins, and what the others evicted
was evicted for nothing. A victim stops `TERMINATION_SECONDS` after it is told to, and starts over when it is admitted
again. A victim that the hub had placed goes back to all workers.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from typing import Any, Final

from benchmarks.policies_mix import WORKERS, Arrival
from benchmarks.policies_worker import SimulatedWorker, workload
from config.api.identifiers import WorkerName
from config.api.meta import NANOSECONDS, conditions
from engine.vocabulary.gate_dialect import GateDialect
from gates.decision.opening import Defer, Grace, Open, Wait, next_gate
from gates.model.dialect import gate_entries, gate_opened_ns, gate_requested_ns
from gates.model.hub_workload import Check, CheckState, HubWorkload
from gates.model.openings import Opening
from gates.model.settings import MINUTE, SECOND, GatePolicy, Settings
from gates.model.view import Replica, WorkerView, WorkloadView

START_NS: Final = 1_800_000_000 * NANOSECONDS
TERMINATION_SECONDS: Final = 30
_DIALECT: Final = GateDialect.KUEUE


@dataclass(slots=True)
class Outcome:
    """What a mix came to."""

    placed: int = 0
    """Workloads of the hub that got a place, each counted once."""
    victims: int = 0
    wasted: int = 0
    """Victims of copies that did not win."""
    lost_pod_seconds: int = 0
    waited_seconds: int = 0
    """From arrival to the first place, summed over those that got one."""


@dataclass(slots=True)
class _Placement:
    """A workload of the hub."""

    arrival: Arrival
    attempt: int = 0
    winner: str = ""
    was_placed: bool = False
    openings: tuple[Opening, ...] = ()
    victims: dict[str, int] = field(default_factory=dict)
    """By worker, in this attempt."""


class Fleet:
    """One play of one mix."""

    def __init__(self, arrivals: Iterable[Arrival], policy: GatePolicy | None) -> None:
        """Without a policy there are no gates."""
        self.outcome = Outcome()
        self._gated = policy is not None
        self._settings = Settings(
            timeout_ns=5 * MINUTE, grace_ns=10 * SECOND, policy=policy or GatePolicy.FIRST_COME_FIRST_SERVED
        )
        self._now = START_NS
        self._workers = {name: SimulatedWorker(name, START_NS) for name in WORKERS}
        self._placements: dict[str, _Placement] = {}
        self._local: dict[str, Arrival] = {}
        self._running: dict[tuple[str, str], int] = {}
        """Worker and name: since when it runs."""
        self._order = count()
        self._events: list[tuple[int, int, str, tuple[Any, ...]]] = []
        for arrival in arrivals:
            self._schedule(START_NS + arrival.at * NANOSECONDS, "arrive", arrival)

    def play(self) -> Outcome:
        """Go on until nothing is left to happen."""
        while self._events:
            self._now = self._events[0][0]
            while self._events and self._events[0][0] == self._now:
                _, _, what, values = heappop(self._events)
                getattr(self, f"_{what}")(*values)
            self._settle()
        return self.outcome

    def _schedule(self, at_ns: int, what: str, *values: Any) -> None:
        heappush(self._events, (at_ns, next(self._order), what, values))

    # --- what happens

    def _arrive(self, arrival: Arrival) -> None:
        if arrival.worker is None:
            self._placements[arrival.name] = _Placement(arrival)
            self._dispatch(self._placements[arrival.name])
        else:
            self._local[arrival.name] = arrival
            raw = workload(arrival, f"{arrival.worker}/{arrival.name}", self._now, gated=False)
            self._workers[arrival.worker].put(raw, self._now)

    def _finish(self, worker: str, name: str, since_ns: int) -> None:
        if self._running.get((worker, name)) == since_ns:
            del self._running[worker, name]
            self._workers[worker].remove(name, self._now)

    def _release(self, worker: str, name: str) -> None:
        """Let an evicted job end; one of the hub's goes back to all workers."""
        if name in self._placements:
            self._workers[worker].remove(name, self._now)
            self._dispatch(self._placements[name])
        else:
            self._workers[worker].release(name, self._now)

    def _reconcile(self) -> None:
        """Wake up: a grace or a window is over."""

    # --- the hub

    def _dispatch(self, placement: _Placement) -> None:
        placement.attempt += 1
        placement.winner, placement.openings, placement.victims = "", (), {}
        arrival = placement.arrival
        for name, worker in self._workers.items():
            uid = f"{name}/{arrival.name}/{placement.attempt}"
            worker.put(workload(arrival, uid, self._now, gated=self._gated), self._now)

    def _settle(self) -> None:
        """Let workers and hub act until none has anything left to do now."""
        is_busy = True
        while is_busy:
            acted = self._run_workers()
            if self._gated:
                opened = [self._decide(each) for each in self._placements.values() if not each.winner]
                acted = acted or any(opened)
            is_busy = acted

    def _run_workers(self) -> bool:
        """Let all workers act before the hub hears of any: none waits for another."""
        happened = {name: worker.run(self._now) for name, worker in self._workers.items()}
        for name, found in happened.items():
            for victim, preemptor in found.evicted:
                self._evict(name, victim, preemptor)
        for name, found in happened.items():
            for admitted in found.admitted:
                self._admit(name, admitted)
        return any(found.evicted or found.admitted for found in happened.values())

    def _evict(self, worker: str, victim: str, preemptor: str) -> None:
        since = self._running.pop((worker, victim), None)
        arrival = self._local.get(victim) or self._placements[victim].arrival
        self.outcome.victims += 1
        if since is not None:
            self.outcome.lost_pod_seconds += arrival.pods * ((self._now - since) // NANOSECONDS)
        self._schedule(self._now + TERMINATION_SECONDS * NANOSECONDS, "release", worker, victim)
        _, _, rest = preemptor.partition("/")
        placement = self._placements.get(rest.partition("/")[0])
        if placement is not None:
            if placement.winner and placement.winner != worker:
                self.outcome.wasted += 1
            placement.victims[worker] = placement.victims.get(worker, 0) + 1

    def _admit(self, worker: str, name: str) -> None:
        placement = self._placements.get(name)
        if placement is not None:
            if placement.winner:
                return  # withdrawn in this very moment
            self._win(placement, worker)
        arrival = self._local.get(name) or self._placements[name].arrival
        self._running[worker, name] = self._now
        self._schedule(self._now + arrival.runs * NANOSECONDS, "finish", worker, name, self._now)

    def _win(self, placement: _Placement, worker: str) -> None:
        placement.winner = worker
        name = placement.arrival.name
        if not placement.was_placed:
            placement.was_placed = True
            self.outcome.placed += 1
            self.outcome.waited_seconds += (self._now - START_NS) // NANOSECONDS - placement.arrival.at
        self.outcome.wasted += sum(number for place, number in placement.victims.items() if place != worker)
        for other, side in self._workers.items():
            if other != worker:
                side.remove(name, self._now)

    def _decide(self, placement: _Placement) -> bool:
        """Ask the orchestrator about the gates of one workload; return whether one was opened."""
        decision = next_gate(self._group(placement), self._now, self._settings)
        match decision:
            case Open(worker=worker, opening=opening):
                kept = tuple(each for each in placement.openings if each.cluster != worker.name)
                placement.openings = (*kept, opening)
                self._workers[worker.name].open_gate(placement.arrival.name, self._now)
                return True
            case Wait(remaining_ns=left) | Defer(remaining_ns=left):
                self._schedule(self._now + max(left, NANOSECONDS), "reconcile")
            case Grace(until_ns=until):
                self._schedule(until, "reconcile")
            case _:
                pass
        return False

    def _group(self, placement: _Placement) -> WorkloadView:
        arrival = placement.arrival
        check = Check("mk", CheckState.PENDING)
        hub = HubWorkload("team", arrival.name, arrival.name, "1", check=check, openings=placement.openings)
        asks = False
        replicas = {}
        for name, worker in self._workers.items():
            replicas[name] = _replica(worker, arrival.name)
            asks = asks or (replicas[name].signal_ns is not None and not replicas[name].gate_open)
        found = []
        for position, (name, worker) in enumerate(self._workers.items()):
            told = worker.forecast(arrival.name, self._now) if asks else None
            found.append(WorkerView(WorkerName(name), position, replica=replicas[name], forecast=told))
        return WorkloadView(hub, tuple(found))


def _replica(worker: SimulatedWorker, name: str) -> Replica:
    raw = worker.raw(name)
    if raw is None:
        message = f"{worker.name} has no copy of {name}"
        raise ValueError(message)
    status = raw.get("status") or {}
    found = conditions(status)
    opened_ns = gate_opened_ns(gate_entries(status), _DIALECT)
    return Replica(
        uid=raw["metadata"]["uid"],
        resource_version="1",
        conditions=found,
        has_gate=True,
        gate_open=opened_ns is not None,
        gate_opened_ns=opened_ns,
        signal_ns=gate_requested_ns(found, _DIALECT),
    )
