"""Acceptance scenarios 125 to 141, as far as one nomination decides them: boost, preemption cost, time."""

import pytest

from engine.cluster.model import ClusterModel
from engine.vocabulary.errors import InvalidObjectError
from tests.support.builders import ClusterQueueBuilder, WorkloadBuilder, cluster, cluster_queue, workload
from tests.unit.engine.acceptance import NO_CANDIDATES, PREEMPT, Case, pending, running

BOOST = "kueue.x-k8s.io/priority-boost"
COST = "kueue.x-k8s.io/preemption-cost"
OWN = "InClusterQueue"
BY_TIME = "InClusterQueueTimeBased"
HOUR = 60

PRIORITY_BOOST = {"PriorityBoost": True}
PREEMPTION_COST = {"PreemptionCost": True}
TIME_BASED = {"TimeBasedSamePriorityPreemption": True}


def alone(cpu: int = 4, within: str = "LowerPriority") -> ClusterQueueBuilder:
    return cluster_queue("A").quota("f", cpu=cpu).preemption(within=within)


def timed(minimum: str | None = "4h", cpu: int = 4) -> ClusterQueueBuilder:
    return alone(cpu, "LowerOrNewerEqualPriority").min_admit_duration(minimum)


def old(name: str, cpu: int = 4, priority: int = 0, since: float = 0) -> WorkloadBuilder:
    """Return a holder created before everything else."""
    return running(name, "A", cpu, priority, since=since).created(-100)


def boosted(value: str) -> WorkloadBuilder:
    return running("v", "A", 4).annotate(BOOST, value)


MAX = 2**31 - 1

CASES = {
    "125 a boost without its gate": Case([alone(), boosted("50"), pending(4, 10)], PREEMPT, {"v": OWN}),
    "126 a boost protects": Case([alone(), boosted("50"), pending(4, 10)], NO_CANDIDATES, gates=PRIORITY_BOOST),
    "127 a boost out of range is ignored": Case(
        [alone(), boosted("2147483648"), pending(4, 10)], PREEMPT, {"v": OWN}, gates=PRIORITY_BOOST
    ),
    "128 the sum is not bounded to 32 bits": Case(
        [alone(), running("v", "A", 4, MAX), pending(4, MAX).annotate(BOOST, "+1")],
        PREEMPT,
        {"v": OWN},
        gates=PRIORITY_BOOST,
    ),
    "130 a cost makes preemption later": Case(
        [
            alone(),
            running("dear", "A", 2, since=2).annotate(COST, "250"),
            running("cheap", "A", 2, since=1),
            pending(2, 10),
        ],
        PREEMPT,
        {"cheap": OWN},
        gates=PREEMPTION_COST,
    ),
    "130 a real worker takes the latest": Case(
        [
            alone(),
            running("dear", "A", 2, since=2).annotate(COST, "250"),
            running("cheap", "A", 2, since=1),
            pending(2, 10),
        ],
        PREEMPT,
        {"dear": OWN},
    ),
    "130 the seed's minus sign is overruled: a higher cost is not preempted first": Case(
        [
            alone(),
            running("dear", "A", 2, since=1).annotate(COST, "1"),
            running("cheap", "A", 2, since=1),
            pending(2, 10),
        ],
        PREEMPT,
        {"cheap": OWN},
        gates=PREEMPTION_COST,
    ),
    "131 a negative cost does not make eligible": Case(
        [alone(), running("v", "A", 4, 20).annotate(COST, "-1000"), pending(4, 10)],
        NO_CANDIDATES,
        gates=PREEMPTION_COST,
    ),
    "133 (T1) an equal one that had its time": Case(
        [timed(), old("a"), pending(4).created(10)], PREEMPT, {"a": BY_TIME}, gates=TIME_BASED, now=4 * HOUR + 1
    ),
    "133 (T1) not a minute earlier": Case(
        [timed(), old("a"), pending(4).created(10)], NO_CANDIDATES, gates=TIME_BASED, now=4 * HOUR - 1
    ),
    "135 (T3) lower priority goes before expired equals": Case(
        [
            timed(),
            old("low", 2, 0, since=999),
            old("expired", 2, 10),
            pending(2, 10).created(10),
        ],
        PREEMPT,
        {"low": OWN},
        gates=TIME_BASED,
    ),
    "136 (T4) without a duration equals are safe for ever": Case(
        [timed(None), old("a"), pending(4).created(10)], NO_CANDIDATES, gates=TIME_BASED, now=10_000
    ),
    "136 (T4) and newer ones are not": Case(
        [timed(None), running("a", "A", 4).created(20), pending(4).created(10)], PREEMPT, {"a": OWN}, gates=TIME_BASED
    ),
    "137 (T5) exactly the duration is not longer": Case(
        [timed("1h"), old("a"), pending(4).created(10)], NO_CANDIDATES, gates=TIME_BASED, now=HOUR
    ),
    "139 (T7) the longest running first, then the uid": Case(
        [
            timed("1h", cpu=3),
            old("x", 1).uid("2"),
            old("y", 1).uid("1"),
            old("z", 1, since=1),
            pending(1).created(10),
        ],
        PREEMPT,
        {"y": BY_TIME},
        gates=TIME_BASED,
    ),
    "139 (T7) the later one last": Case(
        [
            timed("1h", cpu=3),
            old("x", 1).uid("2"),
            old("y", 1).uid("1"),
            old("z", 1, since=1),
            pending(2).created(10),
        ],
        PREEMPT,
        {"x": BY_TIME, "y": BY_TIME},
        gates=TIME_BASED,
    ),
    "140 (T8) time counts in the own ClusterQueue only": Case(
        [
            timed("1h", cpu=2)
            .cohort("pool")
            .with_spec(
                preemption={
                    "withinClusterQueue": "LowerOrNewerEqualPriority",
                    "withinClusterQueueConfig": {"minAdmitDuration": "1h"},
                    "reclaimWithinCohort": "LowerPriority",
                }
            ),
            cluster_queue("B").cohort("pool").quota("f", cpu=2),
            old("own", 2),
            workload("other").request(cpu=2).holds("B"),
            pending(2).created(10),
        ],
        PREEMPT,
        {"own": BY_TIME},
        gates=TIME_BASED,
        fair=[],
    ),
    "7.9 E1 newer and expired counts as expired": Case(
        [timed("1h"), running("a", "A", 4).created(20), pending(4).created(10)],
        PREEMPT,
        {"a": BY_TIME},
        gates=TIME_BASED,
    ),
    "7.9 E4 an expired one of higher priority is safe": Case(
        [timed("1h"), old("a", priority=1), pending(4).created(10)], NO_CANDIDATES, gates=TIME_BASED
    ),
    "7.9 E8 without the gate the duration is ignored": Case(
        [timed("1h"), old("a"), pending(4).created(10)], NO_CANDIDATES
    ),
    "143 who made way by time queues behind its successor": Case(
        [
            timed("4h"),
            running("b", "A", 4, since=500).created(10),
            pending(4).created(0).condition("Preempted", "True", 500, BY_TIME),
        ],
        NO_CANDIDATES,
        gates=TIME_BASED,
        now=501,
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_boost_cost_and_time(case: Case) -> None:
    case.check()


def test_137_t5_a_nanosecond_later_it_is() -> None:
    case = Case(
        [timed("1h"), old("a"), pending(4).created(10)], PREEMPT, {"a": BY_TIME}, gates=TIME_BASED, now=HOUR + 1 / 60
    )
    case.check()


def test_138_t6_a_model_built_again_predicts_the_same() -> None:
    case = CASES["139 (T7) the later one last"]
    assert case.predict() == case.predict()


@pytest.mark.parametrize(
    ("queue", "is_valid"),
    [
        (timed("59s"), False),
        (timed("0s"), False),
        (timed("-1m"), False),
        (timed("60s"), True),
        (alone(within="Never").min_admit_duration("1h"), False),
        (alone(within="LowerPriority").min_admit_duration("1h"), False),
        (timed(None), True),
    ],
    ids=["59s", "0s", "-1m", "60s", "policy Never", "policy LowerPriority", "no duration"],
)
def test_141_t9_validation(queue: ClusterQueueBuilder, is_valid: bool) -> None:
    if is_valid:
        ClusterModel.of(cluster(queue))
        return
    with pytest.raises(InvalidObjectError, match="withinClusterQueueConfig"):
        ClusterModel.of(cluster(queue))
