"""A large cluster, for measuring: many ClusterQueues of one cohort tree, all their quota in use, one workload to place.

`python -m tests.differential.large_cluster | oracle bench` measures real Kueue on the four shapes.
"""

import json
import sys
from collections.abc import Iterator
from datetime import timedelta

from tests.differential.catalogue import Json, kueue_object
from tests.differential.dice import dice
from tests.differential.workloads import NOW, condition, rfc3339

QUEUES = 50
RUNNING = 10_000
VICTIMS = 50
#: What each running workload uses; the incoming one asks for the place of VICTIMS of them.
CPU_EACH = 2


def large_cluster(*, levels: int, fair: bool) -> Json:
    """Return the scenario: `levels` of cohorts, every queue but the incoming workload's own over its nominal quota."""
    name = f"{'fair' if fair else 'classical'}-{levels}-level"
    objects: list[Json] = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}},
        kueue_object("ResourceFlavor", "default", {}),
        *_cohorts(levels),
    ]
    for index in range(QUEUES):
        objects += _queue(index, levels)
    objects += _running(name)
    objects.append(_incoming())
    return {
        "name": name,
        "now": rfc3339(NOW),
        "fairSharing": {"preemptionStrategies": []} if fair else None,
        "featureGates": {},
        "objects": objects,
        "incoming": {"namespace": "team", "name": "incoming"},
    }


def _cohorts(levels: int) -> Iterator[Json]:
    for level in range(1, levels):
        for index in range(5**level):
            parent = _cohort_name(level - 1, index // 5)
            yield kueue_object("Cohort", _cohort_name(level, index), {"parentName": parent})


def _cohort_name(level: int, index: int) -> str:
    return "root" if level == 0 else f"cohort-{level}-{index}"


def _queue(index: int, levels: int) -> list[Json]:
    """Return a queue; number 0 is the one that is owed VICTIMS places, which the others have borrowed."""
    owed, shared = VICTIMS * CPU_EACH, RUNNING * CPU_EACH
    nominal = owed if index == 0 else (shared - owed) // (QUEUES - 1)
    if index == QUEUES - 1:
        nominal = shared - owed - nominal * (QUEUES - 2)
    quota = {"name": "cpu", "nominalQuota": str(nominal)}
    spec = {
        "cohortName": _cohort_name(levels - 1, index % 5 ** (levels - 1)),
        "namespaceSelector": {},
        "queueingStrategy": "BestEffortFIFO",
        "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [{"name": "default", "resources": [quota]}]}],
        "preemption": {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"},
        "flavorFungibility": {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "TryNextFlavor"},
        "stopPolicy": "None",
    }
    return [
        kueue_object("ClusterQueue", f"cq-{index}", spec),
        kueue_object("LocalQueue", f"lq-{index}", {"clusterQueue": f"cq-{index}", "stopPolicy": "None"}, "team"),
    ]


def _running(name: str) -> Iterator[Json]:
    draw = dice("large cluster", name)
    for number in range(RUNNING):
        queue = 1 + number % (QUEUES - 1)
        created = NOW - timedelta(seconds=draw.randint(60, 86_400))
        workload = _workload(f"wl-{number}", queue, draw.choice([0, 10, 20, 50, 100]), 1, str(CPU_EACH))
        workload["metadata"] |= {"uid": f"{draw.getrandbits(64):016x}", "creationTimestamp": rfc3339(created)}
        assignment = {
            "name": "main",
            "count": 1,
            "flavors": {"cpu": "default"},
            "resourceUsage": {"cpu": str(CPU_EACH)},
        }
        workload["status"] = {
            "admission": {"clusterQueue": f"cq-{queue}", "podSetAssignments": [assignment]},
            "conditions": [
                condition("QuotaReserved", "True", "QuotaReserved", created + timedelta(seconds=30)),
                condition("Admitted", "True", "Admitted", created + timedelta(seconds=30)),
            ],
        }
        yield workload


def _incoming() -> Json:
    workload = _workload("incoming", 0, 1000, VICTIMS, str(CPU_EACH))
    workload["metadata"] |= {"uid": "ffffffffffffffff", "creationTimestamp": rfc3339(NOW)}
    return workload


def _workload(name: str, queue: int, priority: int, count: int, cpu: str) -> Json:
    container = {"name": "c", "resources": {"requests": {"cpu": cpu}}}
    pods = {"name": "main", "count": count, "template": {"spec": {"containers": [container]}}}
    spec = {"queueName": f"lq-{queue}", "active": True, "priority": priority, "podSets": [pods]}
    return kueue_object("Workload", name, spec, "team")


def all_shapes() -> Iterator[Json]:
    """Yield flat and three-level cohorts, classical and fair."""
    for levels in (1, 3):
        for fair in (False, True):
            yield large_cluster(levels=levels, fair=fair)


if __name__ == "__main__":
    for scenario in all_shapes():
        sys.stdout.write(json.dumps(scenario, separators=(",", ":")) + "\n")
