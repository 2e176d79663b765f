"""Acceptance scenarios 1 to 40: quota over the tree, requests, suitable flavors, fewer pods."""

import pytest

from engine.objects.configuration import KueueConfiguration
from tests.support.builders import Builder, ClusterQueueBuilder, cluster_queue, cohort, flavor, workload
from tests.unit.engine.acceptance import (
    ADMIT,
    INADMISSIBLE,
    NO_CANDIDATES,
    NO_FIT,
    PENDING,
    PREEMPT,
    SKIPPED,
    Case,
    pending,
    running,
)


def queue(name: str, cpu: int | str, group: str = "pool") -> ClusterQueueBuilder:
    return cluster_queue(name).cohort(group).quota("f", cpu=cpu)


LENDER = queue("B", 10).lending_limit("f", cpu=4)
ALONE = cluster_queue("A")
ONE_GPU = {"nvidia.com/gpu": 1}
TWO_TYPES: tuple[Builder, ...] = (
    flavor("f").labels(t="x"),
    flavor("g").labels(t="y"),
    ALONE.quota("f", cpu=4).quota("g", cpu=4),
)


def required_affinity(*terms: dict[str, list[str]]) -> dict[str, object]:
    """Return a required node affinity: each term asks for a label to be among some values."""
    expressions = [
        {"matchExpressions": [{"key": key, "operator": "In", "values": values} for key, values in term.items()]}
        for term in terms
    ]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": expressions}}}


def container(cpu: str, **more: object) -> dict[str, object]:
    return {"name": f"c{cpu}", "resources": {"requests": {"cpu": cpu}}, **more}


def tolerant_flavor() -> Builder:
    return flavor("f").taint("k", "v").with_spec(tolerations=[{"key": "k", "operator": "Exists"}])


CASES = {
    "1 a lender's limit bounds what can be borrowed": Case(
        [queue("A", 0), LENDER, pending(5)],
        NO_FIT,
        want_message="(0) + current podset request (5) > maximum capacity (4)",
    ),
    "2 what is lent can be used": Case(
        [queue("A", 0), LENDER, pending(4)], ADMIT, want_flavors={"main": {"cpu": "f"}}, want_borrowing=1
    ),
    "3 the lender uses some of what it lends": Case(
        [queue("A", 0), LENDER, running("v", "B", 7), pending(4)],
        NO_FIT,
        want_message="insufficient unused quota for cpu in flavor f, 1 more needed",
    ),
    "4 a borrowing limit of zero": Case(
        [queue("A", 3).borrowing_limit("f", cpu=0), queue("B", 10), pending(4)],
        NO_FIT,
        want_message="maximum capacity (3)",
    ),
    "5 a cohort's own quota": Case([queue("A", 0), cohort("pool").quota("f", cpu=4), pending(4)], ADMIT),
    "6 a borrowing limit of a cohort on the way": Case(
        [
            cohort("l").parent("top").quota("f", cpu=0).borrowing_limit("f", cpu=3),
            cohort("r").parent("top"),
            queue("A", 0, "l"),
            queue("B", 10, "r"),
            pending(4),
        ],
        NO_FIT,
        want_message="maximum capacity (3)",
    ),
    "7 nothing is lent": Case(
        [queue("A", 4).lending_limit("f", cpu=0), queue("B", 0), pending(1, queue="B")],
        NO_FIT,
        want_message="maximum capacity (0)",
    ),
    "7 and its owner can use all of it": Case(
        [queue("A", 4).lending_limit("f", cpu=0), queue("B", 0), pending(4)], ADMIT, want_borrowing=0
    ),
    "8 the quota of a stopped ClusterQueue stays lendable": Case(
        [queue("A", 0), queue("B", 4).stopped(), pending(4)], ADMIT
    ),
    "9 the workloads of a stopped ClusterQueue are safe": Case(
        [queue("A", 4).preemption(reclaim="Any"), queue("B", 0).stopped(), running("v", "B", 4), pending(4)],
        NO_CANDIDATES,
    ),
    "10 unlimited quota": Case([ALONE.quota("f", cpu="10E"), pending("1P")], ADMIT),
    "11 requests are rounded up per pod": Case(
        [ALONE.quota("f", cpu=1), pending("333333u").pods(3)],
        NO_FIT,
        want_message="current podset request (1002m) > maximum capacity (1)",
    ),
    "12 pod sets add up, and only the one that fails is named": Case(
        [ALONE.quota("f", cpu=4), pending().pod_sets().pod_set("ps1", cpu=3).pod_set("ps2", cpu=2)],
        NO_FIT,
        want_message="couldn't assign flavors to pod set ps2: insufficient quota for cpu in flavor f, previously "
        "considered podsets requests (3) + current podset request (2) > maximum capacity (4)",
    ),
    "13 the second pod set takes the second flavor": Case(
        [
            ALONE.quota("f", cpu=4).quota("g", cpu=4),
            pending().pod_sets().pod_set("ps1", cpu=3).pod_set("ps2", cpu=2),
        ],
        ADMIT,
        want_flavors={"ps1": {"cpu": "f"}, "ps2": {"cpu": "g"}},
    ),
    "14 all resources of a group give their reasons, sorted": Case(
        [ALONE.quota("f", cpu=1, memory="1Gi"), pending().request(cpu=2, memory="2Gi")],
        NO_FIT,
        want_message="insufficient quota for cpu in flavor f, previously considered podsets requests (0) + current "
        "podset request (2) > maximum capacity (1), insufficient quota for memory in flavor f, previously "
        "considered podsets requests (0) + current podset request (2Gi) > maximum capacity (1Gi)",
    ),
    "15 the group of the resource that hashes first fails alone": Case(
        [
            ALONE.quota("f", cpu=1).group().quota("g", ONE_GPU),
            pending().request({"nvidia.com/gpu": 2}, cpu=2),
        ],
        NO_FIT,
        want_message="couldn't assign flavors to pod set main: insufficient quota for nvidia.com/gpu in flavor g, "
        "previously considered podsets requests (0) + current podset request (2) > maximum capacity (1)",
    ),
    "16 a resource that is not covered": Case(
        [ALONE.quota("f", cpu=1), pending().request(cpu=1, memory="1Gi")],
        NO_FIT,
        want_message="resource memory unavailable in ClusterQueue",
    ),
    "17 zero of a resource that is not covered": Case(
        [ALONE.quota("f", cpu=1), pending().request(cpu=1, memory=0)], ADMIT, want_flavors={"main": {"cpu": "f"}}
    ),
    "18 an untolerated taint": Case(
        [flavor("f").taint("k", "v"), ALONE.quota("f", cpu=4), pending()],
        NO_FIT,
        want_message="untolerated taint {k v NoSchedule <nil>} in flavor f",
    ),
    "19 a node selector picks the flavor, foreign keys are ignored": Case(
        [*TWO_TYPES, pending().pod_spec(nodeSelector={"t": "y", "other": "z"})],
        ADMIT,
        want_flavors={"main": {"cpu": "g"}},
    ),
    "20 a node selector that no flavor matches": Case(
        [*TWO_TYPES, pending().pod_spec(nodeSelector={"t": "q"})],
        NO_FIT,
        want_message="flavor f doesn't match node affinity, flavor g doesn't match node affinity",
    ),
    "21 a taint that is only a preference": Case(
        [flavor("f").taint("k", "v", "PreferNoSchedule"), ALONE.quota("f", cpu=4), pending()], ADMIT
    ),
    "22 a term about foreign keys makes affinity void": Case(
        [
            flavor("f").labels(t="x"),
            ALONE.quota("f", cpu=4),
            pending().pod_spec(affinity=required_affinity({"t": ["y"]}, {"zone": ["a"]})),
        ],
        ADMIT,
    ),
    "23 a single term that does not match": Case(
        [
            flavor("f").labels(t="x"),
            ALONE.quota("f", cpu=4),
            pending().pod_spec(affinity=required_affinity({"t": ["y"]})),
        ],
        NO_FIT,
        want_message="flavor f doesn't match node affinity",
    ),
    "24 a flavor that tolerates its own taint": Case([tolerant_flavor(), ALONE.quota("f", cpu=4), pending()], ADMIT),
    "25 limits replace missing requests": Case(
        [
            ALONE.quota("f", cpu=4),
            pending().pod_spec(containers=[{"name": "c", "resources": {"limits": {"cpu": "3"}}}]),
        ],
        ADMIT,
        want_usage={"cpu": 3000},
    ),
    "26 an init container needs more than the containers": Case(
        [
            ALONE.quota("f", cpu=4),
            pending().pod_spec(initContainers=[container("3")], containers=[container("1"), container("1")]),
        ],
        ADMIT,
        want_usage={"cpu": 3000},
    ),
    "27 a sidecar runs beside everything after it": Case(
        [
            ALONE.quota("f", cpu=4),
            pending().pod_spec(
                initContainers=[container("1", restartPolicy="Always"), container("3")],
                containers=[container("1"), container("1")],
            ),
        ],
        ADMIT,
        want_usage={"cpu": 4000},
    ),
    "28 overhead counts per pod": Case(
        [ALONE.quota("f", cpu=4), pending(1).pods(2).pod_spec(overhead={"cpu": "250m"})],
        ADMIT,
        want_usage={"cpu": 2500},
    ),
    "29 a LimitRange fills in requests": Case(
        [
            ALONE.quota("f", cpu=4),
            Builder(
                {
                    "apiVersion": "v1",
                    "kind": "LimitRange",
                    "metadata": {"name": "defaults", "namespace": "ns"},
                    "spec": {"limits": [{"type": "Container", "defaultRequest": {"cpu": "500m"}}]},
                }
            ),
            pending().request().pods(4),
        ],
        ADMIT,
        want_usage={"cpu": 2000},
    ),
    "30 a transformation replaces a resource": Case(
        [ALONE.quota("f", credits=10), pending().request({"nvidia.com/gpu": 2})],
        ADMIT,
        want_usage={"credits": 10},
        configuration=KueueConfiguration.from_raw(
            {
                "resources": {
                    "transformations": [
                        {"input": "nvidia.com/gpu", "strategy": "Replace", "outputs": {"credits": "5"}},
                    ]
                }
            }
        ),
    ),
    "31 an excluded prefix": Case(
        [ALONE.quota("f", cpu=1), pending().request({"networking.x/y": 1}, cpu=1)],
        ADMIT,
        want_usage={"cpu": 1000},
        configuration=KueueConfiguration.from_raw({"resources": {"excludeResourcePrefixes": ["networking."]}}),
    ),
    "32 undeclared resources can be ignored": Case(
        [ALONE.quota("f", cpu=1), pending().request(cpu=1, memory="1Gi")],
        ADMIT,
        want_usage={"cpu": 1000},
        configuration=KueueConfiguration.from_raw({"resources": {"quotaCheckStrategy": "IgnoreUndeclared"}}),
    ),
    "32 but not with the gate off": Case(
        [ALONE.quota("f", cpu=1), pending().request(cpu=1, memory="1Gi")],
        NO_FIT,
        configuration=KueueConfiguration.from_raw(
            {"resources": {"quotaCheckStrategy": "IgnoreUndeclared"}},
            {"QuotaCheckStrategy": False},
        ),
    ),
    "33 quota in use": Case(
        [ALONE.quota("f", cpu=4), running("u", "A", 1).pods(4).holds("A"), pending(2)],
        NO_CANDIDATES,
        want_message="2 more needed",
    ),
    "34 reclaimable pods give quota back": Case(
        [ALONE.quota("f", cpu=4), running("u", "A", 1).pods(4).holds("A").reclaimable(main=2), pending(2)], ADMIT
    ),
    "35 fewer pods": Case(
        [ALONE.quota("f", cpu=5), pending(1).pods(8, at_least=2)],
        ADMIT,
        want_counts={"main": 5},
        want_usage={"cpu": 5000},
    ),
    "36 only the pod set that allows it shrinks": Case(
        [
            ALONE.quota("f", cpu=7),
            pending().pod_sets().pod_set("x", cpu=1).pods(4, at_least=1).pod_set("y", cpu=1).pods(6),
        ],
        ADMIT,
        want_counts={"x": 1},
    ),
    "37 not even the minimum fits": Case(
        [ALONE.quota("f", cpu=1), pending(1).pods(8, at_least=2)],
        NO_FIT,
        want_message="current podset request (8) > maximum capacity (1)",
    ),
    "38 a larger size that preempts is preferred to a smaller that fits": Case(
        [
            ALONE.quota("f", cpu=6).preemption(within="LowerPriority"),
            running("v", "A", 3),
            pending(1, priority=10).pods(8, at_least=2),
        ],
        PREEMPT,
        {"v": "InClusterQueue"},
        want_counts={"main": 6},
    ),
    "39 the number of pods is not part of the target search": Case(
        [
            ALONE.quota("f", cpu=100, pods=2).preemption(within="LowerPriority"),
            *(
                workload(name).request(cpu=1, pods=1).holds("A", since=minute)
                for name, minute in (("v1", 1), ("v2", 2))
            ),
            pending(1, priority=10).pods(2),
        ],
        SKIPPED,
        {"v2": "InClusterQueue"},
        want_message="Workload no longer fits after processing another workload",
    ),
    "40 a request above its own limit": Case(
        [
            ALONE.quota("f", cpu=4).preemption(within="LowerPriority"),
            workload(PENDING)
            .queue("A")
            .pod_spec(containers=[{"name": "c", "resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}}]),
        ],
        INADMISSIBLE,
        want_message="resources validation failed: spec.podSets[0].template.spec.containers[0]: "
        'Invalid value: ["cpu"]: requests must not exceed its limits',
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_quota_requests_and_flavors(case: Case) -> None:
    case.check()
