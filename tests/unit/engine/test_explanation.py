"""Explanations: the numbers that decided, and who was safe for which reason."""

from config.api.meta import ObjectKey, parse_time
from engine.cluster.model import ClusterModel
from engine.objects.configuration import FairSharing, KueueConfiguration
from engine.prediction.predict import predict
from engine.reporting.explanation import NominationExplanation, Protection, QuotaLevel, ResourceTrial, UnsuitableFlavor
from engine.search.flavor_grading import Possibility
from engine.vocabulary.features import FeatureGates
from tests.support.builders import NAMESPACE, Builder, at, cluster, cluster_queue, cohort, flavor, workload
from tests.unit.engine.acceptance import PENDING, pending, running


def explain(*builders: Builder, fair: bool = False) -> NominationExplanation:
    configuration = KueueConfiguration(fair_sharing=FairSharing() if fair else None)
    model = ClusterModel.of(cluster(*builders), configuration)
    prediction = predict(model, ObjectKey(NAMESPACE, PENDING), parse_time(at(10)), explain=True)
    assert prediction.explanation is not None
    return prediction.explanation


def trial(explanation: NominationExplanation) -> ResourceTrial:
    (step,) = explanation.steps
    assert isinstance(step, ResourceTrial)
    return step


OWNER = cluster_queue("A").cohort("pool").quota("f", cpu=5).lending_limit("f", cpu=4).borrowing_limit("f", cpu=3)
TAKER = cluster_queue("B").cohort("pool").quota("f", cpu=2)


def test_the_numbers_on_the_way_up() -> None:
    step = trial(
        explain(OWNER.preemption(reclaim="Any"), TAKER, running("b", "B", 6), running("a", "A", 1), pending(3))
    )
    assert (step.requested, step.assumed, step.available, step.missing) == (3000, 0, 0, 3000)
    assert (step.nominal, step.potential) == (5000, 7000)
    assert step.possibility is Possibility.RECLAIM
    assert step.levels == (
        QuotaLevel("A", is_cohort=False, quota=5000, usage=1000, kept=1000, borrowing_limit=3000),
        QuotaLevel("pool", is_cohort=True, quota=6000, usage=6000, kept=0, borrowing_limit=None),
    )


def test_costs_are_told_where_they_count() -> None:
    queue = cluster_queue("A").quota("f", cpu=4).preemption(within="LowerPriority")
    dear = running("dear", "A", 2).annotate("kueue.x-k8s.io/preemption-cost", "250")
    objects = cluster(queue, dear, running("cheap", "A", 2), pending(4, 10))
    for is_on, want_span, want_costs in ((True, (0, 250), [0, 250]), (False, None, [0, 0])):
        configuration = KueueConfiguration(gates=FeatureGates(preemption_cost=is_on))
        model = ClusterModel.of(objects, configuration)
        prediction = predict(model, ObjectKey(NAMESPACE, PENDING), parse_time(at(10)), explain=True)
        assert prediction.explanation is not None
        assert trial(prediction.explanation).candidates[0].costs == want_span
        assert [victim.cost for victim in prediction.victims] == want_costs


def test_no_search_no_candidates() -> None:
    assert trial(explain(OWNER, pending(3))).candidates == ()


def protections(explanation: NominationExplanation) -> dict[str, dict[Protection, int]]:
    return {tally.cluster_queue: dict(tally.protected) for tally in trial(explanation).candidates}


def test_why_others_are_safe() -> None:
    step = explain(
        cluster_queue("A").cohort("l").quota("f", cpu=8).preemption(within="LowerPriority", reclaim="LowerPriority"),
        cohort("l").parent("top"),
        cohort("r").parent("top").quota("f", cpu=9),
        cluster_queue("idle").cohort("top").quota("f", cpu=2),
        cluster_queue("stopped").cohort("top").quota("f", cpu=0).stopped(),
        cluster_queue("busy").cohort("top").quota("f", cpu=0),
        cluster_queue("rich").cohort("r").quota("f", cpu=0),
        running("own-equal", "A", 1, 5),
        running("own-higher", "A", 1, 9),
        running("within", "idle", 2),
        running("off", "stopped", 2),
        running("lower", "busy", 2),
        running("behind", "rich", 9),
        pending(8, priority=5),
    )
    assert protections(step) == {
        "A": {Protection.PRIORITY_HIGHER: 1, Protection.PRIORITY_EQUAL: 1},
        "idle": {Protection.QUEUE_WITHIN_NOMINAL: 1},
        "stopped": {Protection.QUEUE_INACTIVE: 1},
        "busy": {},
        "rich": {Protection.COHORT_WITHIN_NOMINAL: 1},
    }
    eligible = {tally.cluster_queue: tally.eligible for tally in trial(step).candidates}
    assert eligible["busy"] == 1


def test_policies_and_age() -> None:
    step = explain(
        cluster_queue("A").cohort("pool").quota("f", cpu=8).preemption(within="LowerOrNewerEqualPriority"),
        cluster_queue("B").cohort("pool").quota("f", cpu=0),
        running("older", "A", 8).created(0),
        running("other", "B", 2),
        pending(8).created(5),
        fair=True,
    )
    assert protections(step) == {
        "A": {Protection.OLDER_AT_EQUAL_PRIORITY: 1},
        "B": {Protection.POLICY_IS_NEVER: 1},
    }


def test_a_flavor_that_does_not_suit() -> None:
    explanation = explain(
        flavor("f").taint("k", "v"), cluster_queue("A").quota("f", cpu=1).quota("g", cpu=1), pending(1)
    )
    first, second = explanation.steps
    assert first == UnsuitableFlavor(("main",), "f", "untolerated taint {k v NoSchedule <nil>} in flavor f")
    assert isinstance(second, ResourceTrial)
    assert second.possibility is Possibility.FIT


def test_earlier_pod_sets_are_assumed() -> None:
    explanation = explain(
        cluster_queue("A").quota("f", cpu=4),
        workload(PENDING).queue("A").pod_sets().pod_set("x", cpu=3).pod_set("y", cpu=1),
    )
    assumed = [step.assumed for step in explanation.steps if isinstance(step, ResourceTrial)]
    assert assumed == [0, 3000]
