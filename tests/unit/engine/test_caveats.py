"""What an answer says about its own limits: of the cluster, its victims, and the workload that was asked about."""

import pytest

from config.api.meta import ObjectKey, parse_time
from engine.cluster.model import ClusterModel
from engine.cycles.simulation import simulate
from engine.forecasting.forecast import ForecastVerdict, forecast
from engine.objects.configuration import KueueConfiguration
from engine.prediction.predict import predict
from engine.vocabulary.decision import Outcome, Prediction
from tests.support.builders import NAMESPACE, Builder, WorkloadBuilder, at, cluster, cluster_queue, workload
from tests.unit.engine.forecasting.clusters import observe

NOW = parse_time(at(60))
QUEUE = cluster_queue("A").quota("f", cpu=4).preemption(within="LowerPriority")
KEY = ObjectKey(NAMESPACE, "P")
BLOCKS = (
    "unsupported: wait-for-pods-ready-block-admission: waitForPodsReady.blockAdmission delays every admission until "
    "all admitted workloads are ready (Configuration)"
)
ASSUMED = "assumed-defaults: Kueue's Configuration is not known; predicted as Kueue v0.19.1 with its defaults"


def pending() -> WorkloadBuilder:
    return workload("P").queue("A").request(cpu=3).priority(10)


def holder() -> WorkloadBuilder:
    return workload("v").queue("A").request(cpu=4).holds("A")


def ready() -> WorkloadBuilder:
    return holder().condition("PodsReady", "True")


def configured(version: str = "v1beta2", **wait: object) -> KueueConfiguration:
    api_version = f"config.kueue.x-k8s.io/{version}"
    return KueueConfiguration.from_raw({"apiVersion": api_version, "kind": "Configuration", "waitForPodsReady": wait})


BLOCKING = configured(blockAdmission=True)


def predicted(*builders: Builder, configuration: KueueConfiguration | None = None) -> Prediction:
    return predict(ClusterModel.of(cluster(QUEUE, *builders), configuration), KEY, NOW)


@pytest.mark.parametrize(
    ("objects", "configuration", "want"),
    [
        pytest.param([holder(), pending()], BLOCKING, True, id="one is not ready"),
        pytest.param([ready(), pending()], BLOCKING, False, id="all are ready"),
        pytest.param([pending()], BLOCKING, False, id="nothing was admitted"),
        pytest.param([holder(), pending()], configured(timeout="5m"), False, id="v1beta2 does not block unless told"),
        pytest.param([holder(), pending()], configured("v1beta1", enable=True), True, id="v1beta1 blocks unless told"),
        pytest.param(
            [holder(), pending()], configured("v1beta1", blockAdmission=True), False, id="v1beta1 without enable"
        ),
        pytest.param([holder(), pending()], None, False, id="no such configuration"),
    ],
)
def test_blocked_admission_is_not_predicted(
    objects: list[Builder], configuration: KueueConfiguration | None, want: bool
) -> None:
    found = predicted(*objects, configuration=configuration)
    assert (found.outcome is Outcome.UNSUPPORTED, found.message == BLOCKS) == (want, want)


def test_a_forecast_says_that_admission_is_blocked() -> None:
    found = forecast(observe(QUEUE, holder(), pending(), configuration=BLOCKING), KEY, NOW)
    assert (found.verdict, found.message) == (ForecastVerdict.UNSUPPORTED, BLOCKS)


def test_a_simulation_says_that_admission_is_blocked() -> None:
    found = simulate(cluster(QUEUE, holder(), pending()), NOW, BLOCKING)
    assert BLOCKS in found.labels


def test_a_configuration_that_is_only_assumed_is_named() -> None:
    assert predicted(pending(), configuration=KueueConfiguration(is_assumed=True)).labels == (ASSUMED,)
    assert predicted(pending(), configuration=KueueConfiguration()).labels == ()


def test_a_victim_that_is_on_its_way_out_is_named() -> None:
    found = predicted(holder().evicted(), pending())
    assert found.outcome is Outcome.PREEMPT
    assert found.labels == ("in-flight: evicted, and holds its quota until its job has stopped (Workload ns/v)",)
    assert predicted(holder(), pending()).labels == ()


def test_a_workload_that_is_on_its_way_out_says_why_it_is_not_queued() -> None:
    found = predicted(pending().holds("A").evicted())
    assert (found.outcome, found.message) == (Outcome.NOT_QUEUED, "the workload holds quota in ClusterQueue A")
    assert found.labels == ("in-flight: evicted, and holds its quota until its job has stopped (Workload ns/P)",)


def test_labels_are_no_part_of_what_forecasts_are_compared_by() -> None:
    """Records do not keep them: what was recorded would otherwise never equal what is forecast now."""
    known, assumed = (
        forecast(observe(QUEUE, pending(), configuration=configuration), KEY, NOW)
        for configuration in (KueueConfiguration(), KueueConfiguration(is_assumed=True))
    )
    assert (known.labels, assumed.labels) == ((), (ASSUMED,))
    assert known == assumed
