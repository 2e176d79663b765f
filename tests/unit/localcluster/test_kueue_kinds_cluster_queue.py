"""ClusterQueue defaults, and the field that KEP-8522 proposes with its validation V1 to V6."""

from typing import Any

import pytest

from localcluster.catalogue.kueue_kinds.queues import cluster_queue_kind
from localcluster.catalogue.kueue_kinds.time_based_preemption import parse_go_duration
from tests.unit.localcluster.writing import write

CONFIG = "spec.preemption.withinClusterQueueConfig"


def cluster_queue(**preemption: Any) -> dict[str, Any]:
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ClusterQueue",
        "metadata": {"name": "q"},
        "spec": {"preemption": preemption},
    }


def test_a_bare_cluster_queue_gets_kueues_defaults() -> None:
    bare = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "metadata": {"name": "q"}, "spec": {}}

    created = write(cluster_queue_kind(), bare).obj

    assert created["spec"] == {
        "queueingStrategy": "BestEffortFIFO",
        "stopPolicy": "None",
        "flavorFungibility": {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "TryNextFlavor"},
        "preemption": {
            "reclaimWithinCohort": "Never",
            "withinClusterQueue": "Never",
            "borrowWithinCohort": {"policy": "Never"},
        },
    }
    assert created["metadata"]["finalizers"] == ["kueue.x-k8s.io/resource-in-use"]


def test_kueue_drops_the_proposed_field() -> None:
    queue = cluster_queue(withinClusterQueueConfig={"minAdmitDuration": "4h"})

    outcome = write(cluster_queue_kind(), queue)

    assert outcome.dropped == [CONFIG]
    assert outcome.complaints == []


EQUAL = "LowerOrNewerEqualPriority"
TOO_SHORT = "must be at least 1m"
MALFORMED = "must be a duration such as 90s, 4h or 1h30m"
TIME_CASES: dict[str, tuple[str | None, dict[str, str], list[str]]] = {
    "V1 exactly a minute is enough": (EQUAL, {"minAdmitDuration": "60s"}, []),
    "V1 a little less is not": (
        EQUAL,
        {"minAdmitDuration": "59.999s"},
        [f'{CONFIG}.minAdmitDuration: Invalid value: "59.999s": {TOO_SHORT}'],
    ),
    "V1 zero": (
        EQUAL,
        {"minAdmitDuration": "0s"},
        [f'{CONFIG}.minAdmitDuration: Invalid value: "0s": {TOO_SHORT}'],
    ),
    "V1 negative": (
        EQUAL,
        {"minAdmitDuration": "-1m"},
        [f'{CONFIG}.minAdmitDuration: Invalid value: "-1m": {TOO_SHORT}'],
    ),
    "V2 without a duration the feature is inactive": (EQUAL, {}, []),
    "V3 a policy that ignores equal priority": (
        "LowerPriority",
        {"minAdmitDuration": "4h"},
        [f"{CONFIG}: Forbidden: may only be set when spec.preemption.withinClusterQueue is {EQUAL}, not LowerPriority"],
    ),
    "V3 no policy, even with an empty configuration": (
        None,
        {},
        [f"{CONFIG}: Forbidden: may only be set when spec.preemption.withinClusterQueue is {EQUAL}, not Never"],
    ),
    "V4 there is no upper bound": (EQUAL, {"minAdmitDuration": "8760h"}, []),
    "V6 not a duration": (
        EQUAL,
        {"minAdmitDuration": "soon"},
        [f'{CONFIG}.minAdmitDuration: Invalid value: "soon": {MALFORMED}'],
    ),
    "V6 a number without a unit": (
        EQUAL,
        {"minAdmitDuration": "90"},
        [f'{CONFIG}.minAdmitDuration: Invalid value: "90": {MALFORMED}'],
    ),
}


@pytest.mark.parametrize(("policy", "config", "want"), TIME_CASES.values(), ids=TIME_CASES.keys())
def test_time_based_preemption(policy: str | None, config: dict[str, str], want: list[str]) -> None:
    chosen = {} if policy is None else {"withinClusterQueue": policy}
    queue = cluster_queue(withinClusterQueueConfig=config, **chosen)

    assert write(cluster_queue_kind(time_based_preemption=True), queue).complaints == want


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("1h30m", 5400), ("1.5h", 5400), ("100ms", 0.1), ("-2m", -120), ("+3s", 3), ("0", 0), ("", None), ("5 m", None)],
)
def test_go_durations(text: str, seconds: float | None) -> None:
    parsed = parse_go_duration(text)

    assert (None if parsed is None else float(parsed)) == seconds
