"""What switches change over cycles: the same objects, simulated for the versions on both sides of a change."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from config.api.meta import parse_time
from engine.cycles.scheduler import Scheduler
from engine.cycles.simulation import Plan, Simulation, simulate
from engine.objects.configuration import KueueConfiguration
from engine.versions.profiles import profile_of
from tests.differential.recordings import CYCLES_OF_RELEASES, load
from tests.support.builders import Builder, at, cluster, cluster_queue, flavor, workload
from tests.unit.engine.acceptance import running
from tests.unit.engine.stories import condition, waiting

OLD, MIDDLE, FIRST_0_19, NEW = "v0.17.1", "v0.18.3", "v0.19.0", "v0.19.1"
NOW_NS = parse_time(at(1000))
HASHING = {"SchedulingEquivalenceHashing": True}
VARIANTS = {"ConcurrentAdmission": True}
OVER_LIMIT = [{"name": "c", "resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}}]


def run(
    objects: Sequence[Builder],
    version: str,
    gates: Mapping[str, object] | None = None,
) -> Simulation:
    configuration = KueueConfiguration.from_raw({}, gates or {}, profile_of(version))
    return simulate(cluster(*objects), NOW_NS, configuration, Plan(max_cycles=1))


@dataclass(frozen=True, slots=True)
class Parking:
    """Who is parked after the first cycle."""

    objects: Sequence[Builder]
    want: Mapping[str, Sequence[str]]
    """Version → those who are parked."""
    gates: Mapping[str, object] = field(default_factory=dict)


SMALL = cluster_queue("A").quota("f", cpu=1)
PARKING = {
    "one that its limits keep out": Parking(
        [SMALL, *(workload(name).queue("A").pod_spec(containers=OVER_LIMIT) for name in ("x1", "x2"))],
        {OLD: ["x1", "x2"], MIDDLE: ["x1"], NEW: ["x1"]},
        HASHING,
    ),
    "one that needs more than there is": Parking(
        [SMALL, waiting("x1", "A", 2), waiting("x2", "A", 2)],
        {OLD: ["x1", "x2"], MIDDLE: ["x1", "x2"], NEW: ["x1", "x2"]},
        HASHING,
    ),
    "hashing is off by default in v0.17": Parking(
        [SMALL, waiting("x1", "A", 2), waiting("x2", "A", 2)],
        {OLD: ["x1"], MIDDLE: ["x1", "x2"], NEW: ["x1", "x2"]},
    ),
}


@pytest.mark.parametrize(
    ("case", "version"),
    [pytest.param(case, version, id=f"{name} in {version}") for name, case in PARKING.items() for version in case.want],
)
def test_a_failure_parks_those_who_are_alike(case: Parking, version: str) -> None:
    result = run(case.objects, version, case.gates)
    parked = [key.name for keys in result.steps[0].queues.parked.values() for key in keys]
    assert parked == case.want[version]


@pytest.mark.parametrize(
    ("version", "want"),
    {OLD: "Workload", MIDDLE: "Workload", FIRST_0_19: "workload", NEW: "workload"}.items(),
)
def test_a_namespace_that_does_not_match_is_said_as_the_version_says_it(version: str, want: str) -> None:
    selective = SMALL.with_spec(namespaceSelector={"matchLabels": {"team": "a"}})
    result = run([selective, waiting("w", "A", 1)], version)
    assert condition(result, "w", "QuotaReserved").message.startswith(f"{want} namespace")


@pytest.mark.parametrize(("version", "want"), {MIDDLE: "Preempt", FIRST_0_19: "Gated", NEW: "Gated"}.items())
def test_gates_of_variants_count_from_v0_19_on(version: str, want: str) -> None:
    own = cluster_queue("A").quota("f", cpu=4).preemption(within="LowerPriority")
    gated = waiting("w", "A", 4, 10).gates("kueue.x-k8s.io/concurrent-admission")
    (entry,) = run([own, running("v", "A", 4), gated], version, VARIANTS).steps[0].cycle.entries
    assert entry.outcome.value == want


@pytest.mark.parametrize(("version", "is_tried"), {OLD: False, FIRST_0_19: False, "v0.18.5": True, NEW: True}.items())
def test_a_changed_flavor_lets_parked_workloads_try_again(version: str, is_tried: bool) -> None:
    objects = cluster(SMALL, flavor("f").taint("t", "x"), waiting("w", "A", 1))
    scheduler = Scheduler.of(objects, NOW_NS, KueueConfiguration.from_raw({}, {}, profile_of(version)))
    scheduler.run_cycle(NOW_NS)
    assert not scheduler.has_heads
    scheduler.observe(flavor("f").raw, NOW_NS)
    scheduler.queues.process_retries(NOW_NS, even_if_early=True)
    assert scheduler.has_heads is is_tried


def test_a_refusal_worded_by_chance_decides_whether_a_scan_of_flavors_goes_on() -> None:
    *_, recorded = load(CYCLES_OF_RELEASES)
    found = {}
    for version in (FIRST_0_19, NEW):
        configuration = KueueConfiguration.from_raw({}, recorded["featureGates"], profile_of(version))
        result = simulate(recorded["objects"], parse_time(recorded["now"]), configuration, Plan(max_cycles=4))
        found[version] = len(result.alternatives), [each for each in result.labels if "words shortages" in each]
    histories, labels = found[FIRST_0_19]
    assert histories > 1
    assert labels
    assert found[NEW] == (0, [])
