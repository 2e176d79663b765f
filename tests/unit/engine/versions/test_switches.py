"""What each switch changes: the same objects, predicted for the versions on both sides of the change."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from engine.objects.configuration import KueueConfiguration
from engine.versions.profiles import profile_of
from tests.support.builders import Builder, cluster_queue, cohort, flavor, workload
from tests.unit.engine.acceptance import ADMIT, NO_CANDIDATES, NO_FIT, PREEMPT, SKIPPED, Case, pending, running

ON_F, ON_G = {"main": {"cpu": "f"}}, {"main": {"cpu": "g"}}
TRY_NEXT = {"borrow": "TryNextFlavor", "preempt": "TryNextFlavor"}

LABELS: Sequence[Builder] = [
    cluster_queue("A").quota("f", cpu=4).quota("g", cpu=4),
    flavor("f").labels(zone="a"),
    flavor("g").labels(disk="ssd"),
    pending().pod_spec(nodeSelector={"disk": "ssd"}),
]
PODS: Sequence[Builder] = [
    cluster_queue("A").quota("f", cpu=10, pods=2).preemption(within="LowerPriority"),
    workload("u").request(cpu=1).holds("A", since=1).with_usage(cpu=1, pods=1),
    workload("v").request(cpu=1).holds("A", since=2).with_usage(cpu=1, pods=1),
    pending(2, priority=10).pods(2),
]
STUCK: Sequence[Builder] = [
    cohort("near").parent("far"),
    cluster_queue("A")
    .cohort("near")
    .quota("f", cpu=4)
    .quota("g", cpu=0)
    .borrowing_limit("f", cpu=0)
    .fungibility(**TRY_NEXT, prefer="PreemptionOverBorrowing"),
    cluster_queue("B").cohort("near").quota("f", cpu=4),
    cluster_queue("C").cohort("far").quota("g", cpu=4),
    running("v", "A", 4),
    pending(4),
]
PREFERENCE: Sequence[Builder] = [
    cluster_queue("A")
    .cohort("pool")
    .quota("f", cpu=2)
    .quota("g", cpu=4)
    .preemption(within="LowerPriority")
    .fungibility(**TRY_NEXT, prefer="BorrowingOverPreemption"),
    cluster_queue("B").cohort("pool").quota("f", cpu=4),
    workload("v").request(cpu=4).holds("A", "g"),
    pending(4, priority=10),
]
HUGE_QUOTA: Sequence[Builder] = [cluster_queue("A").quota("f", cpu="9223372036854775807"), pending()]
HUGE_SUM: Sequence[Builder] = [
    cluster_queue("A").cohort("pool").quota("f", {"example.com/gpu": "8E"}),
    cluster_queue("B").cohort("pool").quota("f", {"example.com/gpu": "8E"}),
    workload("P").queue("A").request({"example.com/gpu": 1}),
]
HUGE_REQUEST: Sequence[Builder] = [
    cluster_queue("A").quota("f", memory="1Gi"),
    workload("P").queue("A").request(memory="100E"),
]
NEGATIVE_REQUEST: Sequence[Builder] = [
    cluster_queue("A").quota("f", cpu=1),
    workload("P").queue("A").pod_sets("a", "b").pod_set("a", cpu="-1").pod_set("b", cpu=2),
]
BOTH = {"u": "InClusterQueue", "v": "InClusterQueue"}

CASES = {
    "label keys of the group": (
        Case(LABELS, ADMIT, want_flavors=ON_G),
        ("v0.15.8", "v0.16.9", "v0.17.1", "v0.17.5", "v0.18.1"),
    ),
    "label keys of the flavor": (
        Case(LABELS, ADMIT, want_flavors=ON_F),
        ("v0.17.6", "v0.18.2", "v0.18.3", "v0.19.0", "v0.19.2", "v0.20.0"),
    ),
    "pods are counted": (Case(PODS, PREEMPT, BOTH), ("v0.15.8", "v0.16.9", "v0.17.1", "v0.20.0")),
    "pods are left out": (
        Case(PODS, SKIPPED, {"v": "InClusterQueue"}),
        ("v0.18.3", "v0.19.0", "v0.19.1", "v0.19.2"),
    ),
    "no candidates, but near": (
        Case(STUCK, NO_CANDIDATES, want_flavors=ON_F),
        ("v0.16.9", "v0.17.1", "v0.18.3", "v0.19.0"),
    ),
    "no candidates comes last": (
        Case(STUCK, ADMIT, want_flavors=ON_G, want_borrowing=2),
        ("v0.18.5", "v0.19.1", "v0.19.2", "v0.20.0"),
    ),
    "a huge quota of cpu turns negative": (Case(HUGE_QUOTA, NO_FIT), ("v0.15.8", "v0.16.9", "v0.17.1")),
    "a huge quota of cpu is no limit": (Case(HUGE_QUOTA, ADMIT), ("v0.18.3", "v0.19.0", "v0.19.2", "v0.20.0")),
    "a huge sum turns negative": (Case(HUGE_SUM, NO_FIT), ("v0.17.1",)),
    "a huge sum is no limit": (Case(HUGE_SUM, ADMIT), ("v0.18.3", "v0.19.0", "v0.19.2")),
    "a huge request becomes nothing": (Case(HUGE_REQUEST, ADMIT), ("v0.17.1", "v0.18.3", "v0.19.0")),
    "a huge request stays huge": (Case(HUGE_REQUEST, NO_FIT), ("v0.18.5", "v0.19.1", "v0.19.2")),
    "a negative request makes room": (Case(NEGATIVE_REQUEST, ADMIT), ("v0.17.1", "v0.18.3", "v0.19.0")),
    "a negative request counts as nothing": (Case(NEGATIVE_REQUEST, NO_FIT), ("v0.18.5", "v0.19.1", "v0.19.2")),
    "preferences are swapped": (
        Case(PREFERENCE, PREEMPT, {"v": "InClusterQueue"}, want_flavors=ON_G),
        ("v0.15.8", "v0.16.1"),
    ),
    "preferences are as named": (Case(PREFERENCE, ADMIT, want_flavors=ON_F), ("v0.16.2", "v0.17.1", "v0.19.2")),
}


@pytest.mark.parametrize(
    ("case", "version"),
    [
        pytest.param(case, version, id=f"{name} in {version}")
        for name, (case, versions) in CASES.items()
        for version in versions
    ],
)
def test_a_version_has_its_own_rules(case: Case, version: str) -> None:
    configuration = KueueConfiguration.from_raw({}, profile=profile_of(version))
    replace(case, configuration=configuration).check()
