"""A simulated world that checks the promises at the moment when they could be broken.

The oracle knows true time and counts attempts; the code under test sees neither. Requests that let a worker preempt may
stay on their way for a while, be tried again, be given up, and be carried out all the same.
"""

from dataclasses import dataclass, replace

from config.api.identifiers import WorkerName
from gates.model.actions import Action, CreateReplica, OpenGate, PatchHubStatus
from gates.model.hub_workload import CheckState
from gates.model.openings import Steady
from gates.model.settings import SECOND
from gates.model.view import JobSync, Reach, WorkerView, WorkloadView
from tests.support.simulated_group import Memory, RefusedError, SimulatedGroup

T = 30 * SECOND
L = 60 * SECOND
ANSWER = 10 * SECOND
"""How long a request is waited for."""
CARRIED_OUT = 60 * SECOND
"""How long after that an API server may still carry it out."""


@dataclass
class Flight:
    """A request that lets a worker preempt, on its way."""

    action: OpenGate | CreateReplica
    sent: int
    """In true time."""
    given_up: bool = False

    @property
    def start(self) -> tuple[str, str, int]:
        action = self.action
        uid = action.replica_uid if isinstance(action, OpenGate) else ""
        return (action.cluster, uid, action.opened_ns or 0)


def _opening(action: Action) -> OpenGate | CreateReplica | None:
    """Return the action if it lets a worker preempt."""
    if isinstance(action, OpenGate):
        return action
    return action if isinstance(action, CreateReplica) and action.opened_ns is not None else None


class WatchedGroup(SimulatedGroup):
    """Checks that one cluster per timeout opens, and that the work never runs twice."""

    def __init__(self, view: WorkloadView, now_ns: int) -> None:
        super().__init__(view, now_ns, measured=True)
        self.job_attempts: dict[str, int] = {}
        self.away_since: dict[str, int] = {}
        """Since when a worker cannot be read, in true time."""
        self.unlisted_since: dict[str, int] = {}
        self.slow = False
        """Whether requests that let a worker preempt stay on their way."""
        self.flights: list[Flight] = []
        self.boots = 1

    # --- what is promised

    def opens(self, cluster: str, uid: str) -> None:
        for earlier in self.openings:
            if earlier.cluster != cluster and not self._is_over(earlier.cluster, earlier.uid, earlier.attempt):
                waited = self.passed - earlier.at
                assert waited >= T, f"{cluster} opens {waited / SECOND} s after {earlier.cluster}"
        super().opens(cluster, uid)

    def _is_over(self, cluster: str, uid: str, attempt: int) -> bool:
        """An opening ends with its replica in a later attempt of the hub, and by nothing that a worker says."""
        replica = self.workers[WorkerName(cluster)].replica
        return attempt != self.attempt and (replica is None or replica.uid != uid)

    def _sync(self, worker: WorkerView) -> None:
        if self.job_sync(worker) is JobSync.CREATE:
            for other in self.workers.values():
                assert other.name == worker.name or not other.job_present or self._is_given_up(other), (
                    f"a job begins on {worker.name} while one runs on {other.name}"
                )
            self.job_attempts[worker.name] = self.attempt
        super()._sync(worker)

    def _is_given_up(self, worker: WorkerView) -> bool:
        if worker.reach is Reach.SYNCED:
            return self.passed - self.awaited_since.get(worker.name, self.passed) >= L
        return self.job_attempts.get(worker.name) != self.attempt or self.away_for(worker.name) >= L

    # --- what the daemon does

    def apply(self, action: Action) -> None:
        opening = _opening(action)
        if opening is not None and opening.cluster in self.on_the_way:
            raise RefusedError
        if opening is not None and self.slow:
            self._send(Flight(opening, self.passed))
            raise RefusedError  # the look does not wait for it
        try:
            super().apply(action)
        except RefusedError:
            if opening is not None:
                self._give_up(Flight(opening, self.passed), may_arrive=False)
            raise

    def _send(self, flight: Flight) -> None:
        self.flights.append(flight)
        self._count_flights()

    def _count_flights(self) -> None:
        self.on_the_way = frozenset(f.action.cluster for f in self.flights if not f.given_up)

    def _give_up(self, flight: Flight, *, may_arrive: bool) -> None:
        steady = self.steady
        assert steady is not None
        if may_arrive:
            self.memory.tries[flight.start] = steady.at_ns
        elif flight.start in self.memory.own:
            self.memory.tries.setdefault(flight.start, 0)

    def arrive(self) -> None:
        """Let the oldest request be carried out, whether or not anybody waits for the answer."""
        if not self.flights:
            return
        flight = self.flights.pop(0)
        self._count_flights()
        memory = self.memory
        known = Memory(memory.openings, dict(memory.effects), dict(memory.tries), set(memory.own))
        try:
            super().apply(flight.action)
        except RefusedError:
            if not flight.given_up:
                self._give_up(flight, may_arrive=False)
            return
        if flight.given_up:
            self.memory = known  # the answer is lost
            worker = self.workers[flight.action.cluster]
            self.workers[worker.name] = replace(worker, opening_confirmed=False)

    def pass_time(self, duration: int) -> None:
        """Let time pass; requests are tried again while they may be, given up, and in the end lost."""
        left = duration
        while left > 0:
            step = min(left, SECOND)
            left -= step
            self.passed += step
            self.now += step
            self._follow_flights()

    def _follow_flights(self) -> None:
        steady = self.steady
        assert steady is not None
        for flight in list(self.flights):
            if flight.given_up and self.passed - flight.sent >= ANSWER + CARRIED_OUT:
                self.flights.remove(flight)
            elif not flight.given_up and self.passed - flight.sent >= ANSWER:
                if flight.action.not_after_ns is not None and steady.at_ns < flight.action.not_after_ns:
                    flight.sent = self.passed
                    continue
                flight.given_up = True
                self._give_up(flight, may_arrive=True)
        self._count_flights()

    def restart(self, *, another_machine: bool) -> None:
        """Lose what the process remembers; what was sent may still arrive, and it is not sent again."""
        self.memory = Memory()
        for flight in self.flights:
            flight.given_up = True
        self._count_flights()
        if another_machine:
            self.boots += 1
            self.boot = Steady(f"boot {self.boots}", 0)
        for name, worker in self.workers.items():
            self.workers[name] = replace(worker, opening_confirmed=False, problem="", foreign_replica=False)

    # --- what is seen of workers that are away

    def away_for(self, name: str) -> int:
        """Return how long a worker really cannot be read."""
        return self.passed - self.away_since.get(name, self.passed)

    def _seen(self, worker: WorkerView) -> WorkerView:
        worker = super()._seen(worker)
        waits = []
        if worker.reach is Reach.LOST:
            waits.append(self.away_for(worker.name))
        if worker.reach is not Reach.SYNCED and not worker.listed:
            since = max(
                self.unlisted_since.get(worker.name, self.passed), self.away_since.get(worker.name, self.passed)
            )
            waits.append(self.passed - since)
        return replace(worker, lost_for_ns=max(waits)) if waits else worker

    def _patch(self, patch: PatchHubStatus) -> None:
        super()._patch(patch)
        if patch.check_state is CheckState.RETRY:
            self.attempt += 1
