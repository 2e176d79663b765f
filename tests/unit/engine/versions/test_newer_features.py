"""What only newer versions of Kueue have is refused where it is used, and nowhere else."""

from collections.abc import Mapping, Sequence
from copy import deepcopy

import pytest

from config.api.meta import ObjectKey, parse_time
from engine.cluster.model import ClusterModel
from engine.cycles.simulation import simulate
from engine.objects.configuration import KueueConfiguration
from engine.prediction.predict import predict
from engine.versions.profiles import profile_of
from engine.vocabulary.decision import Outcome, Prediction
from tests.support.builders import NAMESPACE, Builder, Json, at, cluster, cluster_queue, cohort
from tests.unit.engine.acceptance import PENDING, pending

ANNOTATION = "kueue.x-k8s.io/preemption-config-name"
QUEUE = cluster_queue("A").quota("f", cpu=4)
OTHER = cluster_queue("B").quota("f", cpu=4)
CONFIGURED = QUEUE.annotate(ANNOTATION, "by-age")


def predicted(
    objects: Sequence[Json], version: str | None = None, gates: Mapping[str, object] | None = None, **raw: object
) -> Prediction:
    model = ClusterModel.of(objects, KueueConfiguration.from_raw(raw, gates, profile_of(version)))
    return predict(model, ObjectKey(NAMESPACE, PENDING), parse_time(at(10)))


def with_effective_quotas(name: str, *builders: Builder) -> list[Json]:
    objects = deepcopy(cluster(*builders))
    for raw in objects:
        if raw["metadata"]["name"] == name:
            raw["status"] = {"effectiveQuotas": {"resourceGroups": []}}
    return objects


@pytest.mark.parametrize(
    ("version", "gates", "is_refused"),
    [
        (None, {}, True),
        (None, {"ConfigurablePreemptions": False}, False),
        ("v0.19.2", {}, False),
        ("v0.18.5", {}, False),
        ("v0.20.0", {}, True),
        ("v0.20.0", {"ConfigurablePreemptions": True}, True),
        ("v0.20.0", {"ConfigurablePreemptions": False}, False),
        ("v0.20.0", {"AllAlpha": False}, False),
        ("v0.21.0", {}, True),
    ],
)
def test_a_preemption_config_is_refused_unless_it_is_known_to_be_off(
    version: str | None, gates: Mapping[str, object], is_refused: bool
) -> None:
    prediction = predicted(cluster(CONFIGURED, pending()), version, gates)
    if is_refused:
        assert prediction.outcome is Outcome.UNSUPPORTED
        assert prediction.message.startswith("unsupported: configurable-preemptions: its PreemptionConfig by-age")
    else:
        assert prediction.outcome is Outcome.ADMIT


def test_a_preemption_config_of_another_queue_is_a_label() -> None:
    prediction = predicted(cluster(QUEUE, OTHER.annotate(ANNOTATION, "by-age"), pending()))
    assert prediction.outcome is Outcome.ADMIT
    assert [label.split(":")[0] for label in prediction.labels] == ["configurable-preemptions"]


def test_an_empty_annotation_names_nothing() -> None:
    assert predicted(cluster(QUEUE.annotate(ANNOTATION, ""), pending())).labels == ()


@pytest.mark.parametrize("holder", ["A", "B", "pool", "near"])
def test_effective_quotas_in_the_tree_are_refused(holder: str) -> None:
    tree = [QUEUE.cohort("near"), OTHER.cohort("pool"), cohort("near").parent("pool"), cohort("pool"), pending()]
    prediction = predicted(with_effective_quotas(holder, *tree))
    assert prediction.outcome is Outcome.UNSUPPORTED
    assert prediction.message.startswith("unsupported: dynamic-quota-orchestration: status.effectiveQuotas")


def test_effective_quotas_elsewhere_or_known_to_be_off_do_not_matter() -> None:
    assert predicted(with_effective_quotas("B", QUEUE, OTHER, pending())).outcome is Outcome.ADMIT
    objects = with_effective_quotas("A", QUEUE, pending())
    assert predicted(objects, "v0.19.2").outcome is Outcome.ADMIT
    assert predicted(objects, "v0.20.0", {"DynamicQuotaOrchestration": False}).outcome is Outcome.ADMIT
    assert predicted(objects, "v0.20.0").outcome is Outcome.UNSUPPORTED


@pytest.mark.parametrize(
    ("gate", "feature"),
    [
        ("FairSharingRefill", "fair-sharing-refill"),
        ("FairSharingReevaluatePreemptionCandidates", "fair-sharing-reevaluate-preemption-candidates"),
    ],
)
def test_gates_of_fair_sharing_are_refused_with_fair_sharing(gate: str, feature: str) -> None:
    objects = cluster(QUEUE, pending())
    prediction = predicted(objects, "v0.20.0", {gate: True}, fairSharing={})
    assert prediction.outcome is Outcome.UNSUPPORTED
    assert feature in prediction.message
    assert predicted(objects, "v0.20.0", {gate: True}).outcome is Outcome.ADMIT
    assert predicted(objects, "v0.20.0", {gate: False}, fairSharing={}).outcome is Outcome.ADMIT


def test_a_crash_of_kueue_is_foretold_where_it_can_happen() -> None:
    preempting = QUEUE.preemption(within="LowerPriority")
    for version, objects, strategies, want in (
        ("v0.17.1", cluster(preempting, pending()), {}, True),
        ("v0.17.1", cluster(preempting.cohort("pool"), pending()), {}, False),
        ("v0.17.1", cluster(QUEUE, pending()), {}, False),
        ("v0.17.1", cluster(preempting, pending()), None, False),
        ("v0.18.3", cluster(preempting, pending()), {}, False),
    ):
        labels = predicted(objects, version, {}, fairSharing=strategies).labels
        assert any(label.startswith("kueue-crash") for label in labels) == want


def test_an_unknown_field_of_the_queue_is_refused_by_its_name() -> None:
    prediction = predicted(cluster(QUEUE.with_spec(admissionLottery={}), pending()))
    assert prediction.outcome is Outcome.UNSUPPORTED
    assert "spec.admissionLottery" in prediction.message


def test_prioritized_preemptors_change_whole_cycles_only() -> None:
    objects, gates = cluster(QUEUE, pending()), {"PrioritizePreemptorWorkloads": True}
    assert predicted(objects, "v0.19.2", gates).outcome is Outcome.ADMIT
    configuration = KueueConfiguration.from_raw({}, gates, profile_of("v0.19.2"))
    labels = simulate(objects, parse_time(at(10)), configuration).labels
    assert any(label.startswith("unsupported: prioritize-preemptor-workloads") for label in labels)
