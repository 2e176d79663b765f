"""The stand-in ends where the engine's own simulation ends: same conditions and messages, same admissions."""

from collections.abc import Mapping
from typing import Any

import pytest

from config.api.meta import conditions, object_key
from engine.cycles.simulation import Plan, simulate
from localcluster.kueue.profile import CURRENT, KEP_8303, KueueProfile
from localcluster.store.ledger import Change
from tests.integration.kueue.stage import GATE, Stage
from tests.support.builders import Builder, ClusterQueueBuilder, WorkloadBuilder, cluster_queue, cohort, workload

DUMPED = ("Namespace", "ResourceFlavor", "Cohort", "ClusterQueue", "LocalQueue", "Workload")


def queue(name: str, cpu: int = 4) -> ClusterQueueBuilder:
    return cluster_queue(name).quota("f", cpu=cpu).preemption(within="LowerPriority", reclaim="Any")


def wl(name: str, to: str, priority: int = 0, cpu: int = 4) -> WorkloadBuilder:
    return workload(name).queue(to).priority(priority).request(cpu=cpu)


def gated(builder: WorkloadBuilder) -> WorkloadBuilder:
    return builder.with_spec(preemptionGates=[{"name": GATE}])


STORIES: Mapping[str, tuple[list[Builder], list[Builder]]] = {
    "everything fits": ([queue("a")], [wl("one", "a", cpu=2), wl("two", "a", cpu=2)]),
    "nothing fits": ([queue("a")], [wl("big", "a", cpu=5)]),
    "a resource that the queue does not cover": ([queue("a")], [wl("gpu", "a").request(cpu=1, gpu=1)]),
    "a higher priority preempts": ([queue("a"), wl("low", "a")], [wl("high", "a", 10)]),
    "a gated preemptor waits": ([queue("a"), wl("low", "a")], [gated(wl("high", "a", 10))]),
    "a cohort reclaims what it lent": (
        [cohort("c"), queue("a").cohort("c"), queue("b").cohort("c"), wl("borrower", "a", cpu=8)],
        [wl("owner", "b")],
    ),
    "a strict queue is blocked by its head": (
        [queue("a").with_spec(queueingStrategy="StrictFIFO"), wl("running", "a", 10, cpu=2)],
        [wl("head", "a", 5, cpu=3), wl("small", "a", 1, cpu=1)],
    ),
    "a chain of preemptions": (
        [queue("a", 6), wl("low", "a", 1, cpu=3), wl("middle", "a", 5, cpu=3)],
        [wl("high", "a", 10, cpu=6)],
    ),
}


@pytest.mark.parametrize("profile", [CURRENT, KEP_8303], ids=["Kueue's dialect", "the KEP's dialect"])
@pytest.mark.parametrize("story", STORIES)
def test_the_stand_in_ends_where_the_simulation_ends(story: str, profile: KueueProfile) -> None:
    before, after = STORIES[story]
    stage = Stage(profile).given(*before).advance(60)
    for builder in after:
        stage.create(builder.raw)
        stage.clock.advance(1)
    objects = [raw for kind in DUMPED for raw in stage.all(kind)]
    plan = Plan(dialect=profile.dialect)

    simulated = simulate(objects, stage.kueue.now_ns(), profile.configuration, plan)
    stage.advance(60)

    want = {str(key): _told(raw) for key, raw in simulated.final.workloads.items()}
    assert {str(object_key(raw)): _told(raw) for raw in stage.all("Workload")} == want


def _told(raw: Mapping[str, Any]) -> dict[str, object]:
    """Return what a Workload says, times left out."""
    status = raw.get("status") or {}
    said = {name: (each.status, each.reason, each.message) for name, each in conditions(raw).items()}
    gates = [
        {name: value for name, value in gate.items() if "Time" not in name}
        for gate in status.get("preemptionGates", ())
    ]
    return {**said, "admission": status.get("admission"), "gates": gates, "evictions": status.get("schedulingStats")}


def test_an_admission_that_is_overtaken_is_decided_again() -> None:
    stage = Stage().given(queue("a"), queue("b"))
    stage.create(wl("first", "a").raw)
    stage.create(wl("second", "b").raw)
    overtaken: list[str] = []

    def touch_second(change: Change) -> None:
        is_admission = change.new.key[1] == "first" and "admission" in change.new.obj.get("status", {})
        if is_admission and not overtaken:
            overtaken.append("second")
            stage.patch("Workload", "second", {"metadata": {"annotations": {"touched": "yes"}}})

    stage.store.subscribe(stage.store.kind("workloads", "kueue.x-k8s.io"), touch_second)

    stage.settle()

    assert overtaken == ["second"]
    assert stage.holds("first", "Admitted")
    assert stage.holds("second", "Admitted")
    assert stage.workload("second")["metadata"]["annotations"] == {"touched": "yes"}
