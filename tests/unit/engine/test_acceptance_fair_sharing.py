"""Acceptance scenarios 108 to 124, as far as one nomination decides them: what Kueue preempts with fair sharing."""

import pytest

from config.api.meta import ObjectKey, parse_time
from engine.cluster.model import ClusterModel
from engine.objects.configuration import FairSharing, KueueConfiguration
from engine.prediction.predict import NOT_EXHAUSTIVE, predict
from engine.quota.shares import share_of
from engine.vocabulary.decision import Outcome
from tests.support.builders import (
    NAMESPACE,
    Builder,
    ClusterQueueBuilder,
    WorkloadBuilder,
    at,
    cluster,
    cluster_queue,
    cohort,
    workload,
)
from tests.unit.engine.acceptance import NO_CANDIDATES, PENDING, PREEMPT, Case, pending, running

FAIR = "InCohortFairSharing"
DEFAULT: list[str] = []
FINAL_SHARE_ONLY = ["LessThanOrEqualToFinalShare"]


def queue(name: str, cpu: int = 0, group: str = "pool", reclaim: str = "Any") -> ClusterQueueBuilder:
    return cluster_queue(name).cohort(group).quota("f", cpu=cpu).preemption(reclaim=reclaim)


def ones(owner: str, count: int, priority: int = 0) -> list[WorkloadBuilder]:
    """Return workloads of one cpu each; the higher the number, the newer."""
    return [running(f"{owner}{number}", owner, 1, priority, since=number) for number in range(1, count + 1)]


def newest(owner: str, count: int, reason: str, of: int = 6) -> dict[str, str]:
    return {f"{owner}{number}": reason for number in range(of - count + 1, of + 1)}


POOL = [queue("A"), queue("B"), queue("C", 6)]
OWED = [queue("A", 3), queue("B", 3)]

CASES = {
    "108 half of the borrower's share": Case(
        [*POOL, *ones("B", 6), pending(2)], PREEMPT, newest("B", 2, FAIR), fair=DEFAULT
    ),
    "109 up to equal shares": Case([*POOL, *ones("B", 6), pending(3)], PREEMPT, newest("B", 3, FAIR), fair=DEFAULT),
    "110 not beyond equal shares": Case([*POOL, *ones("B", 6), pending(4)], NO_CANDIDATES, fair=DEFAULT),
    "111 one large workload by the initial share": Case(
        [*POOL, running("b", "B", 6), pending(2)], PREEMPT, {"b": FAIR}, fair=DEFAULT
    ),
    "112 not by the final share": Case([*POOL, running("b", "B", 6), pending(2)], NO_CANDIDATES, fair=FINAL_SHARE_ONLY),
    "113 a weight entitles to more": Case(
        [queue("A").weight(2), *POOL[1:], *ones("B", 6), pending(4)], PREEMPT, newest("B", 4, FAIR), fair=DEFAULT
    ),
    "114 weight zero entitles to nothing": Case(
        [POOL[0], queue("B").weight(0), POOL[2], *ones("B", 6), pending(6)],
        PREEMPT,
        newest("B", 6, FAIR),
        fair=DEFAULT,
    ),
    "115 nominal quota is reclaimed whatever the shares": Case(
        [*OWED, *ones("B", 6, priority=100), pending(3)], PREEMPT, newest("B", 3, "InCohortReclamation"), fair=DEFAULT
    ),
    "116 the policy still holds": Case(
        [queue("A", 3, reclaim="LowerPriority"), OWED[1], *ones("B", 6), pending(3)], NO_CANDIDATES, fair=DEFAULT
    ),
    "119 the own ClusterQueue by priority": Case(
        [
            queue("A").preemption(within="LowerPriority", reclaim="Any"),
            queue("C", 6),
            running("a1", "A", 6),
            pending(2, priority=5),
        ],
        PREEMPT,
        {"a1": "InClusterQueue"},
        fair=DEFAULT,
    ),
    "120 shares are compared below the common ancestor": Case(
        [
            cohort("l").parent("top"),
            cohort("r").parent("top"),
            queue("A", 0, "l"),
            queue("A2", 0, "l"),
            queue("B", 0, "r"),
            cluster_queue("Q").cohort("top").quota("f", cpu=12),
            *ones("A2", 4),
            *ones("B", 8),
            pending(2),
        ],
        PREEMPT,
        newest("B", 2, FAIR, of=8),
        fair=DEFAULT,
    ),
    "123 no strategies means both": Case(
        [*POOL, running("b", "B", 6), pending(2)],
        PREEMPT,
        {"b": FAIR},
        fair=["LessThanOrEqualToFinalShare", "LessThanInitialShare"],
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_fair_sharing(case: Case) -> None:
    case.check()


def fair_model(*builders: Builder) -> ClusterModel:
    return ClusterModel.of(cluster(*builders), KueueConfiguration(fair_sharing=FairSharing()))


TIED = (
    cohort("l").parent("top"),
    cohort("r").parent("top"),
    cohort("own").parent("top"),
    queue("L", 0, "l"),
    queue("R", 0, "r"),
    queue("A", 2, "own"),
    cluster_queue("Q").cohort("top").quota("f", cpu=2),
    running("left", "L", 2),
    running("right", "R", 2),
    pending(2),
)


def test_122_sibling_cohorts_with_equal_share_are_ambiguous() -> None:
    prediction = predict(fair_model(*TIED), ObjectKey(NAMESPACE, PENDING), parse_time(at(10)))
    assert prediction.outcome is Outcome.AMBIGUOUS
    victims = {victim.key.name for answer in prediction.alternatives for victim in answer.victims}
    assert victims == {"left", "right"}
    assert [len(answer.victims) for answer in prediction.alternatives] == [1, 1]
    assert prediction.labels == ()


def test_a_tie_that_changes_nothing_is_not_ambiguous() -> None:
    """Both siblings are needed, whichever goes first."""
    objects = [*TIED[:5], queue("A", 4, "own"), *TIED[7:9], pending(4)]
    prediction = predict(fair_model(*objects), ObjectKey(NAMESPACE, PENDING), parse_time(at(10)))
    assert prediction.outcome is Outcome.PREEMPT
    assert {victim.key.name for victim in prediction.victims} == {"left", "right"}


def test_more_ties_than_can_be_followed_are_said_to_be_more() -> None:
    sides = [f"s{number}" for number in range(20)]
    objects: list[Builder] = [cohort("own").parent("top"), queue("A", 20, "own")]
    for side in sides:
        objects += [cohort(side).parent("top"), queue(f"q-{side}", 0, side), running(f"w-{side}", f"q-{side}", 2)]
    objects += [cluster_queue("Q").cohort("top").quota("f", cpu=20), pending(20)]
    prediction = predict(fair_model(*objects), ObjectKey(NAMESPACE, PENDING), parse_time(at(10)))
    assert prediction.outcome is Outcome.AMBIGUOUS
    assert prediction.labels == (NOT_EXHAUSTIVE,)


def test_124_borrowing_what_cannot_be_lent_has_no_share_but_borrows() -> None:
    model = fair_model(
        cluster_queue("A").cohort("pool").quota("f", cpu=0),
        cluster_queue("B").cohort("pool").quota("f", cpu=0),
        workload("a").request(cpu=2).holds("A"),
    )
    node = model.cluster_queue("A")
    assert node is not None
    assert share_of(node) == (0, 0.0)
    assert node.is_borrowing


def test_a_weightless_borrower_stands_above_every_share() -> None:
    model = fair_model(queue("A").weight(0), queue("B"), queue("C", 10), running("a", "A", 1), running("b", "B", 9))
    a, b = model.cluster_queue("A"), model.cluster_queue("B")
    assert a is not None
    assert b is not None
    assert share_of(a) > share_of(b)
    assert share_of(b) == (0, 900.0)
