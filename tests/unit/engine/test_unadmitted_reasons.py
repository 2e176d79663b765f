"""Why a workload is not admitted, in the detailed words of the gate UnadmittedWorkloadsObservability."""

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from config.api.meta import Condition, parse_time
from engine.cycles.simulation import Plan, Victims, simulate
from engine.objects.configuration import KueueConfiguration
from engine.vocabulary.features import FeatureGates
from tests.support.builders import Builder, admission_check, at, cluster, cluster_queue, flavor, local_queue, workload
from tests.unit.engine.acceptance import running
from tests.unit.engine.stories import condition, waiting

DETAILED = KueueConfiguration(gates=FeatureGates(unadmitted_workloads_observability=True))
QUEUE = cluster_queue("A").quota("f", cpu=4)
TWO_FLAVORS = QUEUE.quota("g", cpu=4)
TAINTED = flavor("f").taint("k", "v")
CHECK_FAILED = {"name": "c", "state": "Retry", "message": "", "lastTransitionTime": at(0)}


def told(objects: Sequence[Builder], cycles: int = 1) -> Condition:
    """Return what QuotaReserved says of P."""
    plan = Plan(max_cycles=cycles, victims=Victims.TERMINATING)
    result = simulate(cluster(*objects), parse_time(at(1000)), DETAILED, plan)
    admitted = condition(result, "P", "Admitted")
    assert (admitted.status, admitted.reason) == ("False", "NoReservation")
    return condition(result, "P", "QuotaReserved")


def with_status(built: Builder, **fields: object) -> Builder:
    return type(built)({**built.raw, "status": {**built.raw.get("status", {}), **fields}})


@dataclass(frozen=True)
class Case:
    """A cluster, and the reason that P gets."""

    objects: Sequence[Builder]
    want: str


CASES = {
    "more than there ever is": Case([QUEUE, waiting("P", "A", 5)], "ExceedsMaxQuota"),
    "more than there is now": Case(
        [
            cluster_queue("A").cohort("pool").quota("f", cpu=2),
            cluster_queue("B").cohort("pool").quota("f", cpu=2),
            running("v", "B", 3),
            waiting("P", "A", 3),
        ],
        "WaitingForQuota",
    ),
    "nothing to preempt": Case([QUEUE, running("v", "A", 4), waiting("P", "A", 4)], "WaitingForQuota"),
    "no flavor suits": Case([QUEUE, TAINTED, waiting("P", "A", 1)], "NoMatchingFlavor"),
    "a resource that is not covered": Case([QUEUE, workload("P").queue("A").request(memory=1)], "NoMatchingFlavor"),
    "a resource that is not covered, after one that fits": Case(
        [
            cluster_queue("A").quota("f", {"ephemeral-storage": 4}),
            workload("P").queue("A").request({"ephemeral-storage": 1, "memory": 1}),
        ],
        "",
    ),
    "the best of two flavors counts": Case([TWO_FLAVORS, TAINTED, waiting("P", "A", 5)], "ExceedsMaxQuota"),
    "the worst of two resource groups counts": Case(
        [
            cluster_queue("A").quota("f", cpu=4).group().quota("g", memory=4),
            flavor("g").taint("k", "v"),
            workload("P").queue("A").request(cpu=1, memory=1),
        ],
        "NoMatchingFlavor",
    ),
    "waiting for victims": Case(
        [QUEUE.preemption(within="LowerPriority"), running("v", "A", 4), waiting("P", "A", 4, 10)],
        "WaitingForPreemptedWorkloads",
    ),
    "the namespace does not match": Case(
        [QUEUE.with_spec(namespaceSelector={"matchLabels": {"a": "b"}}), waiting("P", "A", 1)], "Misconfigured"
    ),
    "no LocalQueue": Case([QUEUE, waiting("P", "L", 1)], "Misconfigured"),
    "a stopped LocalQueue": Case([QUEUE, local_queue("L", "A", stop="Hold"), waiting("P", "L", 1)], "Suspended"),
    "no ClusterQueue": Case([QUEUE, local_queue("L", "B"), waiting("P", "L", 1)], "Misconfigured"),
    "a stopped ClusterQueue": Case([QUEUE.stopped(), waiting("P", "A", 1)], "Suspended"),
    "failed checks": Case(
        [
            QUEUE.with_spec(admissionChecksStrategy={"admissionChecks": [{"name": "c"}]}),
            admission_check("c"),
            with_status(waiting("P", "A", 1), admissionChecks=[CHECK_FAILED]),
        ],
        "PendingEvaluation",
    ),
    "not evaluated yet": Case(
        [
            cluster_queue("A").quota("f", cpu=4).with_spec(queueingStrategy="StrictFIFO"),
            waiting("big", "A", 5),
            waiting("P", "A", 1, created=1).condition("QuotaReserved", "False", reason="Pending"),
        ],
        "PendingEvaluation",
    ),
    "what the scheduler said before stays": Case(
        [
            cluster_queue("A").quota("f", cpu=4).with_spec(queueingStrategy="StrictFIFO"),
            waiting("big", "A", 5),
            waiting("P", "A", 1, created=1).condition("QuotaReserved", "False", reason="WaitingForQuota"),
        ],
        "WaitingForQuota",
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_reason(case: Case) -> None:
    assert told(case.objects).reason == case.want


def test_a_gate_of_admission_that_is_cleared_is_told() -> None:
    blocked = cluster_queue("A").quota("f", cpu=4).with_spec(queueingStrategy="StrictFIFO")
    cleared = waiting("P", "A", 1, created=1).condition("QuotaReserved", "False", reason="AdmissionGated")
    said = told([blocked, waiting("big", "A", 5), cleared])
    assert (said.reason, said.message) == (
        "PendingEvaluation",
        "AdmissionGatedBy cleared, waiting for quota reservation",
    )


def test_without_the_gate_a_queue_that_is_missing_is_all_that_is_told() -> None:
    result = simulate(cluster(QUEUE, waiting("P", "L", 1)), parse_time(at(1000)))
    said = condition(result, "P", "QuotaReserved")
    assert (said.status, said.reason, said.message) == ("False", "Inadmissible", "LocalQueue L doesn't exist")
