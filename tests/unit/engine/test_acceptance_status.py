"""Acceptance scenarios 142 to 147 and T1, T2: what time does, and what is written on victims."""

from collections.abc import Sequence
from itertools import pairwise

import pytest

from config.api.meta import conditions, parse_time
from engine.cycles.scheduler import Scheduler
from engine.cycles.simulation import Ending, Plan, Simulation, Victims, simulate
from engine.objects.configuration import KueueConfiguration
from engine.vocabulary.features import FeatureGates
from tests.support.builders import Builder, ClusterQueueBuilder, at, cluster, cluster_queue, cohort
from tests.unit.engine.acceptance import running
from tests.unit.engine.stories import condition, status, waiting

TIME_BASED = KueueConfiguration(gates=FeatureGates(time_based_same_priority_preemption=True))
HOUR = 60
SECOND = 1_000_000_000
NEW = Victims.RELEASED


def rotating(duration: str, strategy: str = "BestEffortFIFO") -> ClusterQueueBuilder:
    queue = cluster_queue("A").quota("f", cpu=4).preemption(within="LowerOrNewerEqualPriority")
    return queue.min_admit_duration(duration).with_spec(queueingStrategy=strategy)


def run(
    objects: Sequence[Builder],
    *,
    start: float,
    until: float | None = None,
    cycles: int = 100,
    configuration: KueueConfiguration = TIME_BASED,
    victims: Victims = NEW,
) -> Simulation:
    until_ns = None if until is None else parse_time(at(until))
    plan = Plan(max_cycles=cycles, until_ns=until_ns, victims=victims)
    return simulate(cluster(*objects), parse_time(at(start)), configuration, plan)


def outcomes(result: Simulation) -> list[dict[str, str]]:
    return [{entry.key.name: entry.outcome.value for entry in step.cycle.entries} for step in result.steps]


@pytest.mark.parametrize(
    ("start", "want"),
    [(4 * HOUR + 1 / 60, "Preempt"), (4 * HOUR - 1, "PreemptNoCandidates")],
    ids=["expired", "a minute early"],
)
def test_133_t1_a_holder_that_expired_makes_way(start: float, want: str) -> None:
    objects = [rotating("4h"), running("a", "A", 4), waiting("b", "A", 4, created=30)]
    result = run(objects, start=start, cycles=1)
    assert outcomes(result) == [{"b": want}]
    victims = [(victim.key.name, victim.reason) for victim in result.steps[0].cycle.entries[0].victims]
    assert victims == ([("a", "InClusterQueueTimeBased")] if want == "Preempt" else [])


@pytest.mark.parametrize("strategy", ["BestEffortFIFO", "StrictFIFO"])
def test_134_t2_equal_workloads_take_turns(strategy: str) -> None:
    objects = [rotating("1h", strategy), *(waiting(name, "A", 4, created=age) for age, name in enumerate("abc"))]
    result = run(objects, start=10, until=10 + 4 * HOUR + 10, cycles=1000)
    admitted = [
        (entry.key.name, step.cycle.now_ns)
        for step in result.steps
        for entry in step.cycle.entries
        if entry.outcome == "Admit"
    ]
    assert [name for name, _ in admitted] == ["a", "b", "c", "a", "b"]
    times = [time for _, time in admitted]
    assert all(later - earlier > 60 * 60 * SECOND for earlier, later in pairwise(times))


def test_142_nothing_but_time_wakes_who_waits_for_an_expiry() -> None:
    objects = [rotating("1h"), running("a", "A", 4), waiting("b", "A", 4, created=30)]
    asleep = run(objects, start=30)
    assert (asleep.ending, outcomes(asleep)) == (Ending.NO_HEADS, [{"b": "PreemptNoCandidates"}])
    assert asleep.next_wake_ns == parse_time(at(HOUR)) + 1
    awake = run(objects, start=30, until=HOUR + 1)
    assert outcomes(awake) == [
        {"b": "PreemptNoCandidates"},
        {"b": "Preempt"},
        {"b": "Admit"},
        {"a": "PreemptNoCandidates"},
    ]
    assert condition(awake, "a", "Preempted").reason == "InClusterQueueTimeBased"


def test_143_who_made_way_by_time_waits_for_its_turn() -> None:
    objects = [rotating("1h"), running("a", "A", 4), waiting("b", "A", 4, created=30)]
    result = run(objects, start=61, until=61 + HOUR - 1)
    assert outcomes(result) == [{"b": "Preempt"}, {"b": "Admit"}, {"a": "PreemptNoCandidates"}]
    later = run(objects, start=61, until=61 + HOUR + 1)
    assert outcomes(later)[3:5] == [{"a": "Preempt"}, {"a": "Admit"}]


def test_144_the_message_names_the_way_from_the_top_cohort() -> None:
    objects = [
        cohort("l").parent("org"),
        cluster_queue("a").cohort("l").quota("f", cpu=4).preemption(within="LowerPriority"),
        running("v", "a", 4),
        waiting("P", "a", 4, 10).uid("u1").with_metadata(labels={"kueue.x-k8s.io/job-uid": "j1"}),
    ]
    result = run(objects, start=10, cycles=1, configuration=KueueConfiguration())
    message = (
        "Preempted to accommodate a workload (UID: u1, JobUID: j1) due to prioritization in the ClusterQueue; "
        "preemptor path: /org/l/a; preemptee path: /org/l/a"
    )
    assert condition(result, "v", "Preempted").message == message
    assert condition(result, "v", "Evicted").message == message


PREEMPTING = (
    cluster_queue("A").quota("f", cpu=4).preemption(within="LowerPriority"),
    running("v", "A", 4),
    waiting("P", "A", 4, 10),
)


def test_145_an_eviction_is_counted_and_told_once() -> None:
    result = run(PREEMPTING, start=10, cycles=3, configuration=KueueConfiguration(), victims=Victims.TERMINATING)
    assert outcomes(result) == [{"P": "Preempt"}] * 3
    assert status(result, "v")["schedulingStats"] == {
        "evictions": [{"reason": "Preempted", "underlyingCause": "", "count": 1}]
    }
    told = [event.reason for step in result.steps for write in step.cycle.writes for event in write.events]
    assert told.count("Preempted") == 1
    assert told.count("PreemptedWorkload") == 1


def test_146_a_workload_of_one_pod_does_not_come_back() -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "p"}
    queue, holder, preemptor = PREEMPTING
    objects = [queue, holder.with_metadata(ownerReferences=[pod]), preemptor]
    result = run(objects, start=10, configuration=KueueConfiguration())
    assert outcomes(result) == [{"P": "Preempt"}, {"P": "Admit"}]
    assert (condition(result, "v", "Requeued").status, condition(result, "v", "Requeued").reason) == (
        "False",
        "Preempted",
    )


def test_147_a_victim_that_is_admitted_again_is_a_victim_no_more() -> None:
    message = condition(run(PREEMPTING, start=10, cycles=1, configuration=KueueConfiguration()), "v", "Evicted").message
    scheduler = Scheduler.of(cluster(*PREEMPTING), parse_time(at(10)))
    evicted = run(PREEMPTING, start=10, cycles=2, configuration=KueueConfiguration()).final.workloads
    for key, raw in evicted.items():
        scheduler.observe(raw, parse_time(at(11)))
        if key.name == "P":
            scheduler.forget("Workload", *key, parse_time(at(11)))
    result = scheduler.run_cycle(parse_time(at(12)))
    assert result is not None
    [write] = result.writes
    after = conditions({"status": write.after})
    assert (after["QuotaReserved"].status, after["Admitted"].status) == ("True", "True")
    for name in ("Evicted", "Preempted"):
        assert (after[name].status, after[name].reason) == ("False", "QuotaReserved")
        assert after[name].message == f"Previously: {message}"


def test_eviction_closes_gates_and_resets_checks() -> None:
    checks = [
        {"name": "c", "state": "Ready", "message": "", "lastTransitionTime": at(0)},
        {"name": "d", "state": "Pending", "message": "wait", "lastTransitionTime": at(0)},
        {"name": "e", "state": "Retry", "message": "", "lastTransitionTime": at(0), "requeueAfterSeconds": 9},
    ]
    queue, holder, preemptor = PREEMPTING
    gated = holder.gates("g", open_gates=["g"])
    gated.raw["status"] |= {"admissionChecks": checks, "clusterName": "worker"}
    result = run([queue, gated, preemptor], start=10, cycles=1, configuration=KueueConfiguration())
    after = status(result, "v")
    assert [gate["position"] for gate in after["preemptionGates"]] == ["Closed"]
    assert [check["message"] for check in after["admissionChecks"]] == [
        "Reset to Pending after eviction. Previously: Ready",
        "wait",
        "Reset to Pending after eviction. Previously: Retry",
    ]
    assert (after["admissionChecks"][2]["requeueAfterSeconds"], after["admissionChecks"][2]["retryCount"]) == (9, 1)
    assert "clusterName" not in after


def test_released_victim_has_no_quota_and_queues_again() -> None:
    result = run(PREEMPTING, start=10, configuration=KueueConfiguration())
    assert outcomes(result) == [{"P": "Preempt"}, {"P": "Admit"}, {"v": "PreemptNoCandidates"}]
    assert condition(result, "v", "Admitted").reason == "NoReservation"
    assert condition(result, "v", "Requeued").status == "True"
    assert condition(result, "v", "Evicted").is_true
    assert status(result, "v")["accumulatedPastExecutionTimeSeconds"] == 601
    assert "admission" not in status(result, "v")


def test_an_unwritten_status_is_not_a_write() -> None:
    result = run(PREEMPTING, start=10, cycles=3, configuration=KueueConfiguration(), victims=Victims.TERMINATING)
    second = result.steps[1].cycle
    assert all(not write.changes_status for write in second.writes)
    assert all(write.merge_patch()["status"] == {} for write in second.writes)


def test_a_write_is_fenced_and_patches_only_what_changed() -> None:
    queue, holder, preemptor = PREEMPTING
    objects = [queue, holder, preemptor.with_metadata(resourceVersion="7")]
    result = run(objects, start=10, cycles=1, configuration=KueueConfiguration())
    patches = {write.key.name: write.merge_patch() for write in result.steps[0].cycle.writes}
    assert patches["P"]["metadata"] == {"uid": "P", "resourceVersion": "7"}
    assert set(patches["P"]["status"]) == {"conditions", "resourceRequests"}
    assert set(patches["v"]["status"]) == {"conditions", "schedulingStats"}
