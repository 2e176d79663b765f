"""Random small situations of one pending Pod or PodGroup, for property tests and for comparison with kube-scheduler.

Amounts are small multiples and priorities few, so that they collide: ties, exact fits and shared budgets are where
mistakes hide. Objects are complete enough for the real scheduler to take.
"""

from dataclasses import dataclass
from random import Random

from tests.support.builders import Json, at
from tests.support.pod_builders import budget, group, node, pod, tainted, terminating

PENDING_POD = "p"
PENDING_GROUP = "pg"
ZONE = "z"
APPS = ("", "x", "y")
PRIORITIES = (0, 1, 2, 5, 10, 20)


@dataclass(frozen=True)
class Situation:
    """Objects by kind, and who is pending."""

    nodes: list[Json]
    pods: list[Json]
    groups: list[Json]
    budgets: list[Json]
    asks_for_group: bool

    @property
    def objects(self) -> list[Json]:
        """Return everything in one list."""
        return [*self.nodes, *self.pods, *self.groups, *self.budgets]

    @property
    def as_input(self) -> Json:
        """Return the situation as the line protocol has it."""
        name = PENDING_GROUP if self.asks_for_group else PENDING_POD
        kind = "PodGroup" if self.asks_for_group else "Pod"
        return {
            "nodes": self.nodes,
            "pods": self.pods,
            "podGroups": self.groups,
            "podDisruptionBudgets": self.budgets,
            "preemptor": {"kind": kind, "namespace": "default", "name": name},
        }


def random_situation(random: Random, *, distinct_starts: bool = False) -> Situation:
    """Return a situation; with `distinct_starts` no two pods are equally old."""
    nodes = _nodes(random)
    groups = [
        group(f"g{n}", random.choice(PRIORITIES[:5]), minimum=random.choice([1, 1, None]), mode=_mode(random))
        for n in range(random.choice([0, 0, 1, 2, 3]))
    ]
    bound = _bound_pods(random, nodes, groups, distinct_starts=distinct_starts)
    asks_for_group = random.random() < 0.6
    waiting = _pending_group(random, groups) if asks_for_group else [_pending_pod(random)]
    if random.random() < 0.15:
        _set_in_motion(random, nodes, bound, waiting)
    budgets = [budget(app, random.choice([0, 0, 1, 2])) for app in APPS[1:] if random.random() < 0.4]
    return Situation(nodes, [*bound, *waiting], groups, budgets, asks_for_group)


def _set_in_motion(random: Random, nodes: list[Json], bound: list[Json], waiting: list[Json]) -> None:
    """Let some pods be on their way out, and some pending ones be nominated: the second cycle of a preemption."""
    for index, running in enumerate(bound):
        if random.random() < 0.25:
            bound[index] = terminating(running, by_scheduler=random.random() < 0.7)
    for pending in waiting:
        if random.random() < 0.7:
            pending["status"]["nominatedNodeName"] = random.choice(nodes)["metadata"]["name"]


def _nodes(random: Random) -> list[Json]:
    nodes = []
    for n in range(1, random.choice([1, 2, 2, 3, 3, 4]) + 1):
        room: dict[str, int | str] = {"memory": random.choice(["16Gi", "16Gi", "8Gi"])}
        if random.random() < 0.15:
            room["pods"] = random.choice([2, 3, 4])
        if random.random() < 0.15:
            room["example_com__gpu"] = random.choice([1, 2, 4])
        built = node(f"n{n}", random.choice([4, 4, 4, 6, 8]), **room)
        built["metadata"]["labels"][ZONE] = random.choice(["a", "b"])
        if random.random() < 0.1:
            built = tainted(built, random.choice(["NoSchedule", "PreferNoSchedule", "PreferNoSchedule"]))
        if random.random() < 0.04:
            built["spec"]["unschedulable"] = True
        nodes.append(built)
    return nodes


def _bound_pods(random: Random, nodes: list[Json], groups: list[Json], *, distinct_starts: bool) -> list[Json]:
    minutes = list(range(1, 200))
    random.shuffle(minutes)
    bound: list[Json] = []
    for place in nodes:
        free = place["status"]["allocatable"]["cpu"] - random.choice([0, 0, 0, 1])
        slots = place["status"]["allocatable"]["pods"]
        while free > 0 and slots > 0 and random.random() < 0.93:
            cpu = min(free, random.choice([1, 1, 2, 2, 3, 4]))
            member = random.choice(groups) if groups and random.random() < 0.5 else None
            bound.append(_bound_pod(random, f"b{len(bound)}", cpu, place["metadata"]["name"], member))
            started = minutes.pop() if distinct_starts else random.choice([1, 2, 3])
            bound[-1]["status"]["startTime"] = at(started)
            free, slots = free - cpu, slots - 1
    random.shuffle(bound)
    return bound


def _bound_pod(random: Random, name: str, cpu: int, place: str, member: Json | None) -> Json:
    priority = random.choice(PRIORITIES)
    requests: Json = {"memory": random.choice(["1Gi", "2Gi"])} if random.random() < 0.3 else {}
    if member is not None and random.random() < 0.9:
        priority = member["spec"]["priority"]
    return pod(
        name,
        cpu,
        priority,
        on=place,
        group=member["metadata"]["name"] if member else "",
        app=random.choice(APPS),
        requests=requests,
        spec={"schedulerName": "default-scheduler"},
    )


def _demands(random: Random) -> Json:
    spec: Json = {"schedulerName": "default-scheduler"}
    if random.random() < 0.2:
        spec["nodeSelector"] = {ZONE: random.choice(["a", "b"])}
    if random.random() < 0.15:
        spec["tolerations"] = [{"key": "dedicated", "operator": "Exists"}]
    if random.random() < 0.1:
        term = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["a"]}]}
        preferred = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 10, "preference": term}]}
        spec["affinity"] = {"nodeAffinity": preferred}
    if random.random() < 0.05:
        spec["preemptionPolicy"] = "Never"
    return spec


def _requests(random: Random) -> Json:
    requests: Json = {"cpu": random.choice([1, 2, 2, 3, 4])}
    if random.random() < 0.3:
        requests["memory"] = random.choice(["1Gi", "4Gi"])
    if random.random() < 0.1:
        requests["example-com/gpu"] = 1
    return requests


def _pending_pod(random: Random) -> Json:
    return pod(PENDING_POD, priority=random.choice([10, 10, 15]), requests=_requests(random), spec=_demands(random))


def _pending_group(random: Random, groups: list[Json]) -> list[Json]:
    count = random.choice([1, 2, 2, 3, 4])
    groups.append(
        group(PENDING_GROUP, 10, minimum=random.choice([count, count, max(count - 1, 1), None]), mode=_mode(random))
    )
    requests, demands = _requests(random), _demands(random)
    is_mixed = random.random() < 0.2
    members = []
    for n in range(1, count + 1):
        asked = _requests(random) if is_mixed and random.random() < 0.5 else requests
        members.append(pod(f"{PENDING_POD}{n}", priority=10, group=PENDING_GROUP, requests=asked, spec=demands))
    return members


def _mode(random: Random) -> str:
    return random.choice(["all", "single"])
