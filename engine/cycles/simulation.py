"""Several cycles in a row: what becomes of a whole cluster if nothing comes from outside.

Every cycle is followed by its consequences: what it says is written, the jobs of evicted workloads stop (or not, as one
chooses), and a second passes. It ends when cycles change nothing any more. Invariant: equal objects, in whatever order,
give equal results.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from config.api.meta import NANOSECONDS, ObjectKey
from engine.cycles.outcomes import explore
from engine.cycles.scheduler import CycleResult, Scheduler
from engine.objects.configuration import KueueConfiguration
from engine.objects.workloads import AdmittedWorkload
from engine.prediction.predict import NOT_EXHAUSTIVE
from engine.reporting.status_writes import StatusWrite, released_status, with_status, write
from engine.search.ties import Choices
from engine.vocabulary.gate_dialect import GateDialect

MAX_HISTORIES: Final = 64
"""So many ways through ties that decide something are followed to their end."""


class Victims(StrEnum):
    """What becomes of a workload that is evicted."""

    RELEASED = "Released"
    """Its job stops before the next cycle: it gives its quota back and queues again."""
    TERMINATING = "Terminating"
    """Its job goes on stopping: it keeps its quota."""


class Ending(StrEnum):
    """Why a simulation ended."""

    NO_HEADS = "NoHeads"
    QUIET = "Quiet"
    LIMIT = "Limit"


@dataclass(frozen=True, slots=True)
class QueueContents:
    """Who waits in each ClusterQueue, sorted by key; queues without anybody are left out."""

    heap: Mapping[str, tuple[ObjectKey, ...]]
    parked: Mapping[str, tuple[ObjectKey, ...]]


@dataclass(frozen=True, slots=True)
class CycleStep:
    """One cycle and what followed from it."""

    cycle: CycleResult
    queues: QueueContents
    """After the cycle."""
    released: tuple[StatusWrite, ...]
    """On evicted workloads whose job stopped."""
    queues_of_next: QueueContents
    """When the next cycle begins."""


@dataclass(frozen=True, slots=True)
class FinalState:
    """Where everything ended."""

    reserving: Mapping[str, tuple[ObjectKey, ...]]
    queues: QueueContents
    workloads: Mapping[ObjectKey, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Simulation:
    """What several cycles in a row did."""

    settled: tuple[StatusWrite, ...]
    """Written by the workload controller before the first cycle."""
    steps: tuple[CycleStep, ...]
    ending: Ending
    final: FinalState
    next_wake_ns: int | None
    """When time alone makes the next difference."""
    labels: tuple[str, ...] = ()
    alternatives: tuple["Simulation", ...] = ()
    """All possible histories, this one included, where Kueue leaves it to chance."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How long to go on, and what to assume."""

    max_cycles: int = 100
    victims: Victims = Victims.RELEASED
    until_ns: int | None = None
    """Let time pass up to here when nothing else happens."""
    dialect: GateDialect = GateDialect.KUEUE


def simulate(
    objects: Iterable[Mapping[str, Any]],
    now_ns: int,
    configuration: KueueConfiguration | None = None,
    plan: Plan | None = None,
) -> Simulation:
    """Return what a Kueue that starts on these objects does."""
    objects, plan = list(objects), plan or Plan()

    def history(choices: Choices) -> Simulation:
        scheduler = Scheduler.of(objects, now_ns, configuration, dialect=plan.dialect)
        return Simulator(scheduler, now_ns, plan, choices).run()

    outcomes = explore(history, limit=MAX_HISTORIES)
    first = outcomes.possible[0]
    labels = first.labels if outcomes.is_exhaustive else (*first.labels, NOT_EXHAUSTIVE)
    alternatives = outcomes.possible if len(outcomes.possible) > 1 else ()
    return Simulation(first.settled, first.steps, first.ending, first.final, first.next_wake_ns, labels, alternatives)


class Simulator:
    """One history of a cluster."""

    def __init__(self, scheduler: Scheduler, now_ns: int, plan: Plan, choices: Choices) -> None:
        self._scheduler = scheduler
        self._now_ns = now_ns
        self._plan = plan
        self._choices = choices
        self._labels: dict[str, None] = {}

    def run(self) -> Simulation:
        """Go on until nothing changes, or as far as the plan allows."""
        settled = self._settle()
        steps: list[CycleStep] = []
        # The scan memory makes a cycle that changed nothing try the next flavor: only a whole round is the end.
        quiet, patience = 0, self._longest_flavor_list()
        before = self.contents()
        while True:
            ending = self._ending(len(steps), is_quiet=quiet > patience)
            if ending is Ending.LIMIT or (ending is not None and not self._skip_time()):
                break
            if ending is not None:
                quiet, before = 0, self.contents()
                continue
            step = self._step()
            steps.append(step)
            quiet = 0 if _changes(step, before) else quiet + 1
            before = step.queues_of_next
        next_wake_ns = self._scheduler.next_wake_ns()
        return Simulation(settled, tuple(steps), ending, self._final(), next_wake_ns, tuple(self._labels))

    def contents(self) -> QueueContents:
        """Return who waits where."""
        queues = self._scheduler.queues
        names = sorted(queues)
        return QueueContents(
            heap={name: tuple(queues[name].ready) for name in names if queues[name].ready},
            parked={name: tuple(queues[name].parked) for name in names if queues[name].parked},
        )

    def _ending(self, cycles: int, *, is_quiet: bool) -> Ending | None:
        if is_quiet:
            return Ending.QUIET
        if cycles >= self._plan.max_cycles:
            return Ending.LIMIT
        return None if self._scheduler.has_heads else Ending.NO_HEADS

    def _settle(self) -> tuple[StatusWrite, ...]:
        settled = []
        for key in sorted(self._scheduler.workloads()):
            change = self._scheduler.settle(key, self._now_ns)
            if change is not None:
                settled.append(change)
        self._apply(settled)
        return tuple(settled)

    def _step(self) -> CycleStep:
        cycle = self._scheduler.run_cycle(self._now_ns, self._choices)
        assert cycle is not None  # noqa: S101 - there are heads
        self._labels.update(dict.fromkeys(cycle.labels))
        self._apply(cycle.writes)
        queues = self.contents()
        self._now_ns += NANOSECONDS
        released = self._release() if self._plan.victims is Victims.RELEASED else ()
        self._scheduler.queues.process_retries(self._now_ns, even_if_early=True)
        self._apply(self._scheduler.wake(self._now_ns))
        return CycleStep(cycle, queues, released, self.contents())

    def _release(self) -> tuple[StatusWrite, ...]:
        gates = self._scheduler.model.configuration.gates
        released = []
        for key in sorted(self._scheduler.evicted()):
            raw = self._scheduler.workload(key)
            if raw is not None:
                released.append(write(raw, released_status(raw, self._now_ns, gates)))
        self._apply(released)
        return tuple(released)

    def _apply(self, writes: Iterable[StatusWrite]) -> None:
        for change in sorted(writes, key=lambda change: change.key):
            raw = self._scheduler.workload(change.key)
            if raw is not None and change.changes_status:
                self._scheduler.observe(with_status(raw, change.after), self._now_ns)

    def _skip_time(self) -> bool:
        """Go to the moment when something happens by itself, unless that is too late."""
        moment = self._scheduler.next_wake_ns()
        if moment is None or self._plan.until_ns is None or moment > self._plan.until_ns:
            return False
        self._now_ns = max(self._now_ns, moment)
        self._apply(self._scheduler.wake(self._now_ns))
        return True

    def _longest_flavor_list(self) -> int:
        specs = [queue.existing_spec for queue in self._scheduler.model.forest.queues()]
        return max((len(group.flavors) for spec in specs for group in spec.resource_groups), default=0)

    def _final(self) -> FinalState:
        model = self._scheduler.model
        reserving: dict[str, list[ObjectKey]] = {}
        for workload in model.workloads():
            if isinstance(workload, AdmittedWorkload):
                reserving.setdefault(workload.cluster_queue, []).append(workload.key)
        workloads = {key: raw for key in self._scheduler.workloads() if (raw := self._scheduler.workload(key))}
        return FinalState(
            {name: tuple(sorted(keys)) for name, keys in sorted(reserving.items())}, self.contents(), workloads
        )


def _changes(step: CycleStep, before: QueueContents) -> bool:
    """Return whether a cycle or what followed from it made a difference."""
    writes = (*step.cycle.writes, *step.released)
    return step.queues != before or step.cycle.rewords or any(change.changed_conditions for change in writes)
