"""Runs acceptance scenarios of several cycles: a cluster, and what each cycle does with its heads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from config.api.meta import Condition, ObjectKey, conditions, parse_time
from engine.cycles.scheduler import CycleResult
from engine.cycles.simulation import Plan, Simulation, Victims, simulate
from engine.objects.configuration import FairSharing, KueueConfiguration
from engine.vocabulary.features import FeatureGates
from tests.support.builders import NAMESPACE, Builder, Json, WorkloadBuilder, at, cluster, workload

Cycle = Mapping[str, str]
"""Head → outcome."""


@dataclass(frozen=True, slots=True)
class Story:
    """Some cycles in a row; only what a `want` field mentions is compared."""

    objects: Sequence[Builder]
    want: Sequence[Cycle] = ()
    """The first cycles."""
    want_order: Sequence[str] | None = None
    """In which order the first cycle decided."""
    want_victims: Mapping[str, str] = field(default_factory=dict)
    """Whom the first cycle evicted, and why."""
    want_messages: Mapping[str, str] = field(default_factory=dict)
    """A part of what QuotaReserved says in the end."""
    want_heap: Sequence[str] | None = None
    want_parked: Sequence[str] | None = None
    """Who waits where after the last cycle that is run."""
    want_untouched: Sequence[str] = ()
    """Workloads on which nothing was written."""
    want_ambiguous: bool = False
    cycles: int | None = None
    gates: Mapping[str, bool] = field(default_factory=dict)
    fair: Sequence[str] | None = None
    victims: Victims = Victims.TERMINATING

    def run(self) -> Simulation:
        """Run the cycles that are told about."""
        plan = Plan(max_cycles=self.cycles or len(self.want) or 1, victims=self.victims)
        return simulate(cluster(*self.objects), parse_time(at(1000)), self.configuration(), plan)

    def configuration(self) -> KueueConfiguration:
        """Return the configuration of the Kueue that is simulated."""
        fair_sharing = None if self.fair is None else FairSharing.from_names(self.fair)
        return KueueConfiguration(gates=FeatureGates.from_mapping(self.gates), fair_sharing=fair_sharing)

    def check(self) -> None:
        """Compare what happened with what is wanted."""
        result = self.run()
        got = [{entry.key.name: entry.outcome.value for entry in step.cycle.entries} for step in result.steps]
        assert bool(result.alternatives) == self.want_ambiguous, result.labels
        assert got[: len(self.want)] == [dict(cycle) for cycle in self.want]
        first = result.steps[0].cycle if result.steps else None
        if first is not None and not self.want_ambiguous:
            assert _new_victims(first) == dict(self.want_victims)
        if first is not None and self.want_order is not None:
            assert [entry.key.name for entry in first.entries] == list(self.want_order)
        for name, part in self.want_messages.items():
            assert part in condition(result, name, "QuotaReserved").message
        contents = result.steps[-1].queues if result.steps else result.final.queues
        if self.want_heap is not None:
            assert _names(contents.heap) == sorted(self.want_heap)
        if self.want_parked is not None:
            assert _names(contents.parked) == sorted(self.want_parked)
        for name in self.want_untouched:
            assert "conditions" not in (result.final.workloads[ObjectKey(NAMESPACE, name)].get("status") or {})


def condition(result: Simulation, name: str, kind: str) -> Condition:
    """Return a condition of a workload in the end."""
    return conditions(result.final.workloads[ObjectKey(NAMESPACE, name)])[kind]


def status(result: Simulation, name: str) -> Json:
    """Return the status of a workload in the end."""
    return dict(result.final.workloads[ObjectKey(NAMESPACE, name)].get("status") or {})


def waiting(name: str, queue: str, cpu: int, priority: int = 0, created: float = 0) -> WorkloadBuilder:
    """Return a pending workload of one pod."""
    return workload(name).queue(queue).request(cpu=cpu).priority(priority).created(created)


def _new_victims(cycle: CycleResult) -> dict[str, str]:
    evicted = {write.key for write in cycle.writes for kind in write.changed_conditions if kind.type == "Evicted"}
    victims = (victim for entry in cycle.entries for victim in entry.victims)
    return {victim.key.name: victim.reason.value for victim in victims if victim.key in evicted}


def _names(keys_of: Mapping[str, Sequence[ObjectKey]]) -> list[str]:
    return sorted(key.name for keys in keys_of.values() for key in keys)
