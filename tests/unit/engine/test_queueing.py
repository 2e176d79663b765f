"""Whether a workload is considered at all (acceptance scenarios 101 and 104 to 106, as far as one nomination goes)."""

import pytest

from config.api.meta import ObjectKey, parse_time
from engine.cluster.model import ClusterModel
from engine.objects.configuration import KueueConfiguration
from engine.prediction.predict import predict
from engine.prediction.what_if import WhatIf
from engine.vocabulary.decision import Outcome
from engine.vocabulary.features import FeatureGates
from tests.support.builders import NAMESPACE, Builder, at, cluster, cluster_queue, flavor, local_queue, namespace
from tests.unit.engine.acceptance import (
    ADMIT,
    INADMISSIBLE,
    NOT_QUEUED,
    PENDING,
    PREEMPT,
    Case,
    pending,
    running,
)

QUEUE = cluster_queue("A").quota("f", cpu=4)
GATED = {"MultiKueueOrchestratedPreemption": True}
NEEDS_PREEMPTION: tuple[Builder, ...] = (
    QUEUE.preemption(within="LowerPriority"),
    running("v", "A", 4),
    pending(4, priority=10).gates("g1"),
)


def requeue_at(minute: float) -> Builder:
    built = pending()
    return type(built)({**built.raw, "status": {"requeueState": {"count": 1, "requeueAt": at(minute)}}})


def failed_check() -> Builder:
    built = pending()
    return type(built)({**built.raw, "status": {"admissionChecks": [{"name": "c", "state": "Retry"}]}})


CASES = {
    "101 a back-off that ends now is over": Case([QUEUE, requeue_at(10)], ADMIT, now=10),
    "101 a back-off that ends later": Case(
        [QUEUE, requeue_at(11)], NOT_QUEUED, want_message="in back-off until 2026-01-01T00:11:00Z", now=10
    ),
    "not requeued": Case([QUEUE, pending().condition("Requeued", "False")], NOT_QUEUED, want_message="not requeued"),
    "104 a selector of null matches nothing": Case(
        [QUEUE.with_spec(namespaceSelector=None), pending()],
        INADMISSIBLE,
        want_message="workload namespace doesn't match ClusterQueue selector",
    ),
    "a selector that matches": Case(
        [QUEUE.with_spec(namespaceSelector={"matchLabels": {"t": "x"}}), namespace("ns", t="x"), pending()], ADMIT
    ),
    "a namespace that does not exist": Case(
        [QUEUE, namespace("other"), pending()], INADMISSIBLE, want_message='namespace "ns" does not exist'
    ),
    "105 an admission gate": Case(
        [QUEUE, pending().annotate("kueue.x-k8s.io/admission-gated-by", "x")], NOT_QUEUED, want_message="gated"
    ),
    "106 a stopped LocalQueue": Case(
        [QUEUE, local_queue("A", "A", stop="Hold"), pending()], NOT_QUEUED, want_message="LocalQueue A is inactive"
    ),
    "a LocalQueue that does not exist": Case(
        [QUEUE, pending(queue="nowhere")], NOT_QUEUED, want_message="LocalQueue nowhere doesn't exist"
    ),
    "a ClusterQueue that does not exist": Case(
        [QUEUE, local_queue("lq", "B"), pending(queue="lq")], NOT_QUEUED, want_message="ClusterQueue B doesn't exist"
    ),
    "an inactive ClusterQueue": Case(
        [QUEUE.stopped(), pending()], INADMISSIBLE, want_message="ClusterQueue A is inactive"
    ),
    "a failed admission check": Case(
        [QUEUE, failed_check()], INADMISSIBLE, want_message="The workload has failed admission checks"
    ),
    "102 a closed gate stops the act of preempting": Case(
        NEEDS_PREEMPTION,
        Outcome.GATED,
        {"v": "InClusterQueue"},
        want_message="Workload requires preemption, but it's gated",
        gates=GATED,
    ),
    "103 without its feature the gate is ignored": Case(NEEDS_PREEMPTION, PREEMPT, {"v": "InClusterQueue"}),
    "a closed gate does not stop who fits": Case([QUEUE, pending(4).gates("g1")], ADMIT, gates=GATED),
    "an open gate": Case(
        [*NEEDS_PREEMPTION[:2], pending(4, priority=10).gates("g1", open_gates=["g1"])],
        PREEMPT,
        {"v": "InClusterQueue"},
        gates=GATED,
    ),
    "a feature that is not modelled": Case(
        [
            flavor("f").with_spec(topologyName="rack"),
            QUEUE,
            pending(),
        ],
        Outcome.UNSUPPORTED,
        want_message="unsupported: topology-aware-scheduling",
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_who_is_considered(case: Case) -> None:
    case.check()


def test_what_holds_quota_or_is_unknown_is_not_queued() -> None:
    model = ClusterModel.of(cluster(QUEUE, running("v", "A", 4)))
    held = predict(model, ObjectKey(NAMESPACE, "v"), 0)
    assert (held.outcome, held.message) == (NOT_QUEUED, "the workload holds quota in ClusterQueue A")
    assert predict(model, ObjectKey(NAMESPACE, "nobody"), 0).outcome is NOT_QUEUED


def test_opening_the_gates_is_a_question_one_can_ask() -> None:
    configuration = KueueConfiguration(gates=FeatureGates.from_mapping(GATED))
    model = ClusterModel.of(cluster(*NEEDS_PREEMPTION), configuration)
    key, now = ObjectKey(NAMESPACE, PENDING), parse_time(at(10))
    with WhatIf(model) as hypothesis:
        hypothesis.open_gates(key)
        assert hypothesis.predict(key, now).outcome is PREEMPT
        hypothesis.remove("Workload", NAMESPACE, "v")
        assert hypothesis.predict(key, now).outcome is ADMIT
    assert predict(model, key, now).outcome is Outcome.GATED


def test_a_hypothesis_is_taken_back_after_an_error_too() -> None:
    model = ClusterModel.of(cluster(QUEUE, pending(4)))
    key = ObjectKey(NAMESPACE, PENDING)

    def fail_inside() -> None:
        with WhatIf(model) as hypothesis:
            hypothesis.add(running("v", "A", 4).raw)
            hypothesis.add({"kind": "Job", "metadata": {"name": "ignored"}})
            assert hypothesis.predict(key, 0).outcome is not ADMIT
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_inside()
    assert predict(model, key, 0).outcome is ADMIT


def test_an_admission_check_is_mentioned() -> None:
    queue = QUEUE.with_spec(admissionChecksStrategy={"admissionChecks": [{"name": "c"}]})
    conditions = [{"type": "Active", "status": "True"}]
    check = {"kind": "AdmissionCheck", "metadata": {"name": "c"}, "spec": {}, "status": {"conditions": conditions}}
    model = ClusterModel.of([*cluster(queue, pending()), check])
    prediction = predict(model, ObjectKey(NAMESPACE, PENDING), 0)
    assert prediction.outcome is ADMIT
    assert prediction.labels == (
        "admission-checks: check c: QuotaReserved predicted, Admitted unknown (ClusterQueue A)",
    )


def test_limit_ranges_that_disagree_make_the_answer_ambiguous() -> None:
    ranges = [
        {
            "kind": "LimitRange",
            "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": {"limits": [{"type": "Container", "defaultRequest": {"cpu": cpu}}]},
        }
        for name, cpu in (("a", "1"), ("b", "2"))
    ]
    model = ClusterModel.of([*cluster(QUEUE, pending().request()), *ranges])
    assert predict(model, ObjectKey(NAMESPACE, PENDING), 0).outcome is Outcome.AMBIGUOUS
