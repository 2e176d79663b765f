"""Properties of predictions: independent of order, allowed by policy, no larger than needed, and without a trace."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from config.api.meta import ObjectKey, parse_time
from engine.cluster.candidates import EligibilityRule
from engine.cluster.cluster_queue import ClusterQueue
from engine.cluster.model import ClusterModel
from engine.objects.specs import PreemptionPolicy
from engine.objects.workloads import AdmittedWorkload, PendingWorkload
from engine.prediction.predict import predict
from engine.quota.quota_tree import UsageChanges
from engine.vocabulary.decision import Outcome, Prediction, Victim
from engine.vocabulary.messages import PreemptionReason
from tests.property.engine_clusters import PENDING, Scenario, scenarios
from tests.support.builders import NAMESPACE, at
from tests.support.engine_state import fingerprint

KEY = ObjectKey(NAMESPACE, PENDING)
NOW = parse_time(at(100))


def answer(scenario: Scenario) -> tuple[ClusterModel, Prediction]:
    model = ClusterModel.of(scenario.objects, scenario.configuration)
    return model, predict(model, KEY, NOW)


@given(scenarios(), st.randoms(use_true_random=False))
def test_the_order_in_which_objects_arrive_does_not_matter(scenario: Scenario, shuffler: Random) -> None:
    _, expected = answer(scenario)
    shuffled = list(scenario.objects)
    shuffler.shuffle(shuffled)
    _, got = answer(Scenario(shuffled, scenario.configuration))
    assert got == expected


@given(scenarios())
def test_a_prediction_leaves_no_trace(scenario: Scenario) -> None:
    model = ClusterModel.of(scenario.objects, scenario.configuration)
    before = fingerprint(model)
    first = predict(model, KEY, NOW)
    assert fingerprint(model) == before
    assert predict(model, KEY, NOW, explain=True).victims == first.victims
    assert fingerprint(model) == before


def workload_of(model: ClusterModel, victim: Victim) -> AdmittedWorkload:
    found = model.workload(victim.key)
    assert isinstance(found, AdmittedWorkload)
    return found


def queue_of(model: ClusterModel, name: str) -> ClusterQueue:
    queue = model.cluster_queue(name)
    assert queue is not None
    return queue


@given(scenarios())
def test_no_victim_that_the_policy_forbids(scenario: Scenario) -> None:
    model, prediction = answer(scenario)
    pending = model.workload(KEY)
    assert isinstance(pending, PendingWorkload)
    for victim in prediction.victims:
        is_own = victim.cluster_queue == prediction.cluster_queue
        preemption = queue_of(model, prediction.cluster_queue).existing_spec.preemption
        policy = preemption.within_cluster_queue if is_own else preemption.reclaim_within_cohort
        gates = scenario.configuration.gates
        rule = EligibilityRule(
            policy,
            pending.priority,
            pending.queue_time_ns,
            needs_buffer=gates.scheduler_timestamp_preemption_buffer,
            is_ordered_by_priority=True,
        )
        assert policy is not PreemptionPolicy.NEVER
        assert rule.allows(workload_of(model, victim))
        assert queue_of(model, victim.cluster_queue).is_active
        assert (victim.reason is PreemptionReason.IN_CLUSTER_QUEUE) == is_own


@given(scenarios())
def test_victims_make_room_and_nearly_all_of_them_are_needed(scenario: Scenario) -> None:
    """Fill-back reconsiders every victim but the last; so all but one must be missed if they stayed."""
    model, prediction = answer(scenario)
    if prediction.outcome is not Outcome.PREEMPT:
        return
    own = queue_of(model, prediction.cluster_queue)
    needs = [
        (model.table.get(flavor, resource), pod_set.usage[resource])
        for pod_set in prediction.pod_sets
        for resource, flavor in pod_set.flavors.items()
    ]

    def fits_without(victims: list[Victim]) -> bool:
        changes = UsageChanges()
        for victim in victims:
            for fr, amount in workload_of(model, victim).usage:
                changes.remove(queue_of(model, victim.cluster_queue).cell(fr), amount)
        cells = [(own.cell(fr), amount) for fr, amount in needs]
        fits = all(amount <= max(0, cell.available()) for cell, amount in cells)
        borrows = any(cell.borrows_with(amount) for cell, amount in cells if amount)
        changes.undo()
        return fits and not (borrows and may_have_refused_to_borrow)

    victims = list(prediction.victims)
    may_have_refused_to_borrow = False
    assert fits_without(victims)
    may_have_refused_to_borrow = True
    spared = [victim for victim in victims if fits_without([other for other in victims if other is not victim])]
    assert len(spared) <= 1


@settings(max_examples=50)
@given(scenarios(fair=False))
def test_without_fair_sharing_nothing_is_left_to_chance(scenario: Scenario) -> None:
    _, prediction = answer(scenario)
    assert prediction.outcome is not Outcome.AMBIGUOUS
