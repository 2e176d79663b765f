"""The oracle's harness around Kueue's scheduler, checked on clusters small enough to know the outcome beforehand."""

from datetime import timedelta
from pathlib import Path
from typing import Any

from tests.differential.catalogue import Json, kueue_object
from tests.differential.oracle import ask
from tests.differential.workloads import NOW, condition, rfc3339

GATE = "kueue.x-k8s.io/multikueue"
ORCHESTRATED = "MultiKueueOrchestratedPreemption"


def queue(
    name: str, cpu: int, cohort: str | None = "team", strategy: str = "BestEffortFIFO", **preemption: Any
) -> list[Json]:
    """Return a ClusterQueue with this much cpu, and its LocalQueue."""
    quota = {"name": "f", "resources": [{"name": "cpu", "nominalQuota": str(cpu)}]}
    spec: Json = {
        "namespaceSelector": {},
        "queueingStrategy": strategy,
        "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [quota]}],
        "preemption": preemption,
    }
    if cohort is not None:
        spec["cohortName"] = cohort
    return [kueue_object("ClusterQueue", name, spec), kueue_object("LocalQueue", name, {"clusterQueue": name}, "ns")]


def waiting(name: str, queue_name: str, cpu: int, priority: int = 0, minute: int = 0) -> Json:
    """Return a pending workload, created at the given minute."""
    container = {"name": "c", "resources": {"requests": {"cpu": str(cpu)}}}
    pods = {"name": "main", "count": 1, "template": {"spec": {"containers": [container]}}}
    spec = {"queueName": queue_name, "active": True, "priority": priority, "podSets": [pods]}
    result = kueue_object("Workload", name, spec, "ns")
    created = NOW - timedelta(hours=1) + timedelta(minutes=minute)
    result["metadata"] |= {"uid": f"uid-{name}", "creationTimestamp": rfc3339(created)}
    return result


def running(name: str, queue_name: str, cpu: int, priority: int = 0) -> Json:
    """Return a workload that holds quota."""
    result = waiting(name, queue_name, cpu, priority)
    assignment = {"name": "main", "count": 1, "flavors": {"cpu": "f"}, "resourceUsage": {"cpu": str(cpu)}}
    result["status"] = {
        "admission": {"clusterQueue": queue_name, "podSetAssignments": [assignment]},
        "conditions": [condition(kind, "True", kind, NOW) for kind in ("QuotaReserved", "Admitted")],
    }
    return result


def simulate(oracle: Path, objects: list[Json], cycles: int = 4, **settings: Any) -> Json:
    """Return what real Kueue does with these objects."""
    flavor = kueue_object("ResourceFlavor", "f", {})
    scenario = {"name": "case", "now": rfc3339(NOW), "objects": [flavor, *objects], "cycles": cycles} | settings
    (answer,) = ask([oracle, "cycles"], [scenario])
    expect: Json = answer["expect"]
    return expect


def admitted(cycle: Json) -> list[str]:
    return [one["name"] for one in cycle["admitted"]]


def messages(cycle: Json, name: str) -> dict[str, str]:
    return {one["type"]: one["message"] for one in cycle["conditions"] if one["name"] == name}


def test_a_head_that_does_not_fit_blocks_a_strict_queue(oracle: Path) -> None:
    objects = [*queue("a", 2, strategy="StrictFIFO"), waiting("big", "a", 3), waiting("small", "a", 1, minute=1)]
    result = simulate(oracle, objects)
    assert result["stopped"] == "Quiet"
    assert result["final"]["queues"]["heap"] == {"a": ["ns/big", "ns/small"]}
    assert not any(messages(cycle, "small") for cycle in result["cycles"])


def test_a_head_that_does_not_fit_is_parked_in_a_best_effort_queue(oracle: Path) -> None:
    result = simulate(oracle, [*queue("a", 2), waiting("big", "a", 3), waiting("small", "a", 1, minute=1)])
    first, second = result["cycles"]
    assert first["queues"] == {"heap": {"a": ["ns/small"]}, "parked": {"a": ["ns/big"]}}
    assert admitted(second) == ["small"]
    assert result["stopped"] == "NoHeads"


def test_who_needs_not_borrow_goes_first(oracle: Path) -> None:
    objects = [*queue("a", 4), *queue("b", 0), waiting("w1", "a", 4), waiting("w2", "b", 4, priority=100)]
    (first, *_) = simulate(oracle, objects)["cycles"]
    assert admitted(first) == ["w1"]
    assert messages(first, "w2")["QuotaReserved"] == "Workload no longer fits after processing another workload"


def test_a_victim_makes_room_for_one_preemptor_only(oracle: Path) -> None:
    objects = [
        *queue("a", 2, reclaimWithinCohort="Any"),
        *queue("b", 2, reclaimWithinCohort="Any"),
        *queue("c", 0),
        running("v", "c", 4),
        waiting("p", "a", 2, priority=5),
        waiting("q", "b", 2),
    ]
    first, second, *_ = simulate(oracle, objects)["cycles"]
    assert [(one["name"], one["reason"]) for one in first["preempted"]] == [("v", "InCohortReclamation")]
    assert messages(first, "q")["QuotaReserved"].startswith("Workload has overlapping preemption targets")
    assert [one["name"] for one in first["released"]] == ["v"]
    assert admitted(second) == ["p", "q"]


def test_a_closed_gate_stops_only_the_preemption(oracle: Path) -> None:
    gated = waiting("p", "a", 2, priority=5)
    gated["spec"]["preemptionGates"] = [{"name": GATE}]
    objects = [*queue("a", 2, withinClusterQueue="LowerPriority"), running("v", "a", 2), gated]
    (only,) = simulate(oracle, objects, featureGates={ORCHESTRATED: True})["cycles"]
    assert only["preempted"] == []
    assert messages(only, "p")["BlockedOnPreemptionGates"] == "Workload requires preemption, but it's gated"
    assert only["queues"]["parked"] == {"a": ["ns/p"]}
    first, *_ = simulate(oracle, objects, featureGates={ORCHESTRATED: False})["cycles"]
    assert [one["name"] for one in first["preempted"]] == ["v"]


def test_a_victim_that_keeps_running_is_awaited_and_not_evicted_again(oracle: Path) -> None:
    objects = [
        *queue("a", 2, withinClusterQueue="LowerPriority"),
        running("v", "a", 2),
        waiting("p", "a", 2, priority=5),
    ]
    first, *others = simulate(oracle, objects, victimsKeepRunning=True)["cycles"]
    assert messages(first, "p")["QuotaReserved"].endswith(". Pending the preemption of 1 workload(s)")
    assert others
    assert all(cycle["preempted"] == [] and cycle["queues"]["heap"] == {"a": ["ns/p"]} for cycle in others)


def test_a_preemption_says_where_both_sides_are(oracle: Path) -> None:
    objects = [
        kueue_object("Cohort", "l", {"parentName": "org"}),
        *queue("a", 2, cohort="l", withinClusterQueue="LowerPriority"),
        running("v", "a", 2),
        waiting("p", "a", 2, priority=5),
    ]
    first, *_ = simulate(oracle, objects)["cycles"]
    assert first["preempted"][0]["message"] == (
        "Preempted to accommodate a workload (UID: uid-p, JobUID: UNKNOWN) due to prioritization in the ClusterQueue; "
        "preemptor path: /org/l/a; preemptee path: /org/l/a"
    )
