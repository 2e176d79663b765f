"""Acceptance scenarios 53 to 81: what Kueue preempts without fair sharing."""

import pytest

from tests.support.builders import Builder, ClusterQueueBuilder, cluster_queue, cohort, workload
from tests.unit.engine.acceptance import NO_CANDIDATES, NO_FIT, PREEMPT, Case, pending, running

OWN = "InClusterQueue"
RECLAIM = "InCohortReclamation"
WHILE_BORROWING = "InCohortReclaimWhileBorrowing"


def alone(cpu: int, within: str = "LowerPriority") -> ClusterQueueBuilder:
    return cluster_queue("A").quota("f", cpu=cpu).preemption(within=within)


def queue(
    name: str, cpu: int, group: str = "pool", *, threshold: int | None = None, **policies: str
) -> ClusterQueueBuilder:
    return cluster_queue(name).cohort(group).quota("f", cpu=cpu).preemption(threshold=threshold, **policies)


def hierarchy(reclaim: str, borrow: str = "Never") -> list[Builder]:
    """Two cohorts of two ClusterQueues with 2 each below one top."""
    return [
        cohort("l").parent("top"),
        cohort("r").parent("top"),
        queue("a", 2, "l", reclaim=reclaim, borrow=borrow),
        queue("a2", 2, "l"),
        queue("b", 2, "r"),
        queue("b2", 2, "r"),
    ]


def borrower(cpu: int, threshold: int | None = None) -> ClusterQueueBuilder:
    return queue("A", cpu, within="LowerPriority", reclaim="Any", borrow="LowerPriority", threshold=threshold)


BOTH_OF_TWO = ("b1", "B", 4, 100, 1), ("b2", "B", 4, 100, 2)
EIGHT_IN_B = (running("b1", "B", 8), pending(6, priority=100))


def time_case(*, victim_created: float, own_created: float, want_victim: bool, reserved: float = 0) -> Case:
    holder = running("v", "A", 4, 5, since=reserved).created(victim_created)
    return Case(
        [alone(4, "LowerOrNewerEqualPriority"), holder, pending(4, priority=5).created(own_created)],
        PREEMPT if want_victim else NO_CANDIDATES,
        {"v": OWN} if want_victim else {},
    )


CASES = {
    "53 latest reservation first": Case(
        [alone(4), running("v1", "A", 2, since=1), running("v2", "A", 2, since=2), pending(2, priority=10)],
        PREEMPT,
        {"v2": OWN},
    ),
    "54 fill-back returns what is not needed": Case(
        [
            alone(10),
            running("s1", "A", 1, since=9),
            running("s2", "A", 1, since=8),
            running("b", "A", 8, 1, since=1),
            pending(8, priority=10),
        ],
        PREEMPT,
        {"b": OWN},
    ),
    "55 the uid decides in the end": Case(
        [
            alone(3),
            running("v1", "A", 1, 1, since=1).uid("b"),
            running("v2", "A", 1, 1, since=1).uid("a"),
            running("v3", "A", 1, 2, since=9),
            pending(1, priority=10),
        ],
        PREEMPT,
        {"v2": OWN},
    ),
    "56 reclaiming nominal quota asks for no priority": Case(
        [queue("A", 5, reclaim="Any"), queue("B", 5), *(running(*holder) for holder in BOTH_OF_TWO), pending(5)],
        PREEMPT,
        {"b2": RECLAIM},
    ),
    "57 equal priority is not lower": Case(
        [
            queue("A", 5, reclaim="LowerPriority"),
            queue("B", 5),
            running("b1", "B", 4, 5, 1),
            running("b2", "B", 4, 5, 2),
            pending(5, priority=5),
        ],
        NO_CANDIDATES,
    ),
    "58 reclaiming alone does not help over nominal": Case(
        [
            queue("A", 5, reclaim="Any"),
            queue("B", 5),
            running("a1", "A", 3),
            running("b1", "B", 4),
            running("b2", "B", 3, since=1),
            pending(4, priority=100),
        ],
        NO_CANDIDATES,
    ),
    "59 together with own victims it does": Case(
        [
            queue("A", 5, within="LowerPriority", reclaim="Any"),
            queue("B", 5),
            running("a1", "A", 3),
            running("b1", "B", 4),
            running("b2", "B", 3, since=1),
            pending(4, priority=100),
        ],
        PREEMPT,
        {"a1": OWN, "b2": RECLAIM},
    ),
    "60 over nominal, borrowing forbids reclaiming": Case(
        [queue("A", 5, within="LowerPriority", reclaim="Any"), queue("B", 5), *EIGHT_IN_B],
        NO_FIT,
        want_message="4 more needed",
    ),
    "61 unless borrowWithinCohort allows it": Case(
        [borrower(5), queue("B", 5), *EIGHT_IN_B], PREEMPT, {"b1": WHILE_BORROWING}
    ),
    "62 a victim above the threshold": Case(
        [borrower(5, threshold=50), queue("B", 5), running("b1", "B", 8, 60), EIGHT_IN_B[1]],
        NO_CANDIDATES,
    ),
    "63 the threshold is inclusive": Case(
        [borrower(5, threshold=60), queue("B", 5), running("b1", "B", 8, 60), EIGHT_IN_B[1]],
        PREEMPT,
        {"b1": WHILE_BORROWING},
    ),
    "64 within nominal the threshold does not matter": Case(
        [
            borrower(5, threshold=50),
            queue("B", 5),
            running("b1", "B", 8, 60),
            pending(5, priority=100),
        ],
        PREEMPT,
        {"b1": RECLAIM},
    ),
    "65 a negative threshold": Case(
        [
            borrower(5, threshold=-10),
            queue("B", 5),
            running("b1", "B", 4, -5),
            running("b2", "B", 4, -10),
            pending(6),
        ],
        PREEMPT,
        {"b2": WHILE_BORROWING},
    ),
    "66 who does not borrow is safe": Case(
        [borrower(5), queue("B", 5), running("b1", "B", 5), pending(6, priority=100)],
        NO_CANDIDATES,
    ),
    "67 newer at equal priority": time_case(victim_created=10, own_created=5, want_victim=True),
    "68 created in the same second": time_case(victim_created=5, own_created=5, want_victim=False),
    "69 creation counts, not reservation": time_case(victim_created=2, own_created=5, reserved=11, want_victim=False),
    "70 what is already evicted goes first": Case(
        [
            alone(4),
            running("v1", "A", 2, 3).evicted(),
            running("v2", "A", 2),
            pending(2, priority=10),
        ],
        PREEMPT,
        {"v1": OWN},
        want_message="Pending the preemption of 1 workload(s)",
    ),
    "71 other ClusterQueues before the own one": Case(
        [
            queue("A", 4, within="LowerPriority", reclaim="Any"),
            queue("B", 0),
            running("o", "A", 2),
            running("v", "B", 2, 50),
            pending(2, priority=10),
        ],
        PREEMPT,
        {"v": RECLAIM},
    ),
    "72 a ClusterQueue at nominal is protected": Case(
        [
            queue("A", 4, reclaim="Any"),
            queue("B", 2),
            queue("C", 0),
            running("b1", "B", 2, since=1),
            running("b2", "B", 2, since=2),
            running("c1", "C", 2, 9),
            pending(4),
        ],
        PREEMPT,
        {"b2": RECLAIM, "c1": RECLAIM},
    ),
    "73 only holders of the wanted resource": Case(
        [
            cluster_queue("A").quota("f", cpu=10, memory=4).preemption(within="LowerPriority"),
            workload("v1").request(cpu=1).holds("A"),
            workload("v2").request(memory=4).priority(5).holds("A"),
            pending(priority=10).request(memory=2),
        ],
        PREEMPT,
        {"v2": OWN},
    ),
    "74 every resource must fit": Case(
        [
            cluster_queue("A").quota("f", cpu=4, memory=4).preemption(within="LowerPriority"),
            workload("v1").request(cpu=3, memory=1).holds("A"),
            workload("v2").request(cpu=1, memory=3).priority(1).holds("A"),
            pending(priority=10).request(cpu=4, memory=4),
        ],
        PREEMPT,
        {"v1": OWN, "v2": OWN},
    ),
    "75 while borrowing, only below the threshold": Case(
        [
            borrower(3, threshold=0),
            queue("B", 3),
            running("a1", "A", 2),
            running("b1", "B", 2, 100),
            running("b2", "B", 2),
            pending(2, priority=10),
        ],
        PREEMPT,
        {"b2": WHILE_BORROWING},
    ),
    "76 hierarchical advantage, lower priority only": Case(
        [
            *hierarchy("LowerPriority"),
            running("v5", "b", 4, 5),
            running("v0", "b2", 4, 0),
            pending(4, priority=5, queue="a"),
        ],
        PREEMPT,
        {"v0": RECLAIM},
    ),
    "77 hierarchical advantage over any priority": Case(
        [*hierarchy("Any"), running("v5", "b", 4, 5), running("v9", "b2", 4, 9), pending(4, queue="a")],
        PREEMPT,
        {"v5": RECLAIM},
    ),
    "78 near and far in one list, lower priority first": Case(
        [*hierarchy("Any"), running("near", "a2", 3, 0), running("far", "b2", 5, 9), pending(2, queue="a")],
        PREEMPT,
        {"near": RECLAIM},
    ),
    "79 over nominal the later reservation goes": Case(
        [
            *hierarchy("Any", borrow="LowerPriority"),
            running("near", "a2", 3, 0, since=1),
            running("far", "b2", 5, 0, since=2),
            pending(3, priority=1, queue="a"),
        ],
        PREEMPT,
        {"far": WHILE_BORROWING},
    ),
    "80 nothing may be preempted": Case(
        [cluster_queue("A").quota("f", cpu=4), running("v", "A", 4), pending(4)], NO_CANDIDATES
    ),
    "81 a victim that is already evicted counts": Case(
        [queue("A", 4, reclaim="Any"), queue("B", 0), running("v", "B", 4).evicted(), pending(4)],
        PREEMPT,
        {"v": RECLAIM},
        want_message="Pending the preemption of 1 workload(s)",
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_classical_preemption(case: Case) -> None:
    case.check()
