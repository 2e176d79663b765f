"""A packed Workload predicts as the whole one does, and holds nothing of the pods that a prediction does not read."""

from dataclasses import replace

import pytest

from config.api.meta import ObjectKey, object_key, parse_time
from engine.cluster.model import ClusterModel
from engine.forecasting.essentials import PackedWorkload
from engine.objects.configuration import FairSharing, KueueConfiguration
from engine.objects.workloads import PendingWorkload
from engine.prediction.predict import predict
from engine.vocabulary.features import FeatureGates
from tests.differential.recordings import NOMINATIONS, load
from tests.support.builders import Json, workload


def model_of(scenario: Json) -> ClusterModel:
    fair = scenario["fairSharing"]
    configuration = KueueConfiguration(
        gates=FeatureGates.from_mapping(scenario["featureGates"]),
        fair_sharing=None if fair is None else FairSharing.from_raw(fair),
    )
    return ClusterModel.of(scenario["objects"], configuration)


@pytest.mark.slow
def test_every_recorded_nomination_is_predicted_alike_from_the_packed_form() -> None:
    for scenario in load(NOMINATIONS):
        whole, packed = model_of(scenario), model_of(scenario)
        for pending in packed.pending():
            packed.put("Workload", pending.key, replace(pending, raw=PackedWorkload(pending.raw)))
        key = ObjectKey(scenario["incoming"]["namespace"], scenario["incoming"]["name"])
        now_ns = parse_time(scenario["now"])
        assert predict(packed, key, now_ns) == predict(whole, key, now_ns), scenario["name"]


def test_nothing_of_a_pod_is_kept_that_a_prediction_does_not_read() -> None:
    container = {"name": "c", "image": "registry.example/secret", "env": [{"name": "TOKEN", "value": "s3cret"}]}
    raw = workload("a").queue("q").pod_spec(containers=[container], serviceAccountName="sa").raw

    packed = PackedWorkload(raw)

    assert packed["spec"]["podSets"][0]["template"] == {"spec": {"containers": [{}]}}
    assert object_key(packed) == ObjectKey("ns", "a")
    assert "s3cret" not in str(dict(packed))


def test_the_packed_form_reads_like_a_workload() -> None:
    packed = PackedWorkload(workload("a").queue("q").condition("Requeued", "False").raw)

    assert packed["kind"] == "Workload"
    assert len(packed) == len(list(packed))
    assert packed.get("other") is None
    assert packed["status"]["conditions"][0]["message"] == ""
    assert isinstance(PendingWorkload(ObjectKey("ns", "a"), "a", "q", 0, 0, packed).raw, PackedWorkload)
