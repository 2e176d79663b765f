"""Random situations with twists: what objects may say beyond the common case, drawn far more often than it is met.

Each twist changes the objects of an ordinary random situation in place; together they reach the corners of requests,
node demands, budgets, groups and priorities that the plain ones leave alone.
"""

from collections.abc import Callable
from copy import deepcopy
from random import Random

from tests.support.builders import Json, at
from tests.support.pod_builders import budget, group, node, pod
from tests.support.pod_situations import PENDING_GROUP, ZONE, Situation, random_situation

Twist = Callable[[Random, Situation], None]
GIGA = "example.com/gpu"


def odd_situation(random: Random) -> Situation:
    """Return a situation with one to four twists."""
    plain = random_situation(random)
    situation = Situation(
        deepcopy(plain.nodes),
        deepcopy(plain.pods),
        deepcopy(plain.groups),
        deepcopy(plain.budgets),
        plain.asks_for_group,
    )
    chosen = random.sample(TWISTS, random.choice([1, 2, 2, 3, 4]))
    for twist in sorted(chosen, key=TWISTS.index):
        twist(random, situation)
    return situation


def _bound(situation: Situation) -> list[Json]:
    return [raw for raw in situation.pods if raw["spec"].get("nodeName")]


def _pending(situation: Situation) -> list[Json]:
    return [raw for raw in situation.pods if not raw["spec"].get("nodeName")]


def _some(random: Random, raws: list[Json], share: float = 0.4) -> list[Json]:
    return [raw for raw in raws if random.random() < share]


def _requests(raw: Json) -> Json:
    requests: Json = raw["spec"]["containers"][0]["resources"]["requests"]
    return requests


def fractions(random: Random, situation: Situation) -> None:
    """Requests and nodes that are no whole cores."""
    for raw in _some(random, situation.pods):
        _requests(raw)["cpu"] = random.choice(["100m", "500m", "1500m", "2500m", "0.7"])
    for raw in _some(random, situation.nodes):
        raw["status"]["allocatable"]["cpu"] = random.choice(["3900m", "4100m", "5500m"])


def nothing_asked(random: Random, situation: Situation) -> None:
    """Pods without requests, which count for the score but not for the room."""
    for raw in _some(random, situation.pods):
        raw["spec"]["containers"][0]["resources"] = {"requests": {}}


def scarce_memory(random: Random, situation: Situation) -> None:
    """Memory is what runs out."""
    for raw in situation.nodes:
        raw["status"]["allocatable"]["memory"] = random.choice(["4Gi", "4000M", "6Gi"])
    for raw in situation.pods:
        _requests(raw)["memory"] = random.choice(["512Mi", "1Gi", "2Gi", "1G", "1500Mi"])


def local_storage(random: Random, situation: Situation) -> None:
    """Ephemeral storage is compared like any other resource."""
    for raw in situation.nodes:
        raw["status"]["allocatable"]["ephemeral-storage"] = random.choice(["10Gi", "20Gi"])
    for raw in _some(random, situation.pods, 0.6):
        _requests(raw)["ephemeral-storage"] = random.choice(["1Gi", "5Gi", "8Gi"])


def devices(random: Random, situation: Situation) -> None:
    """Extended resources, also on nodes that have none."""
    for raw in _some(random, situation.nodes, 0.7):
        raw["status"]["allocatable"][GIGA] = random.choice([1, 2, 4])
    for raw in _some(random, situation.pods, 0.6):
        _requests(raw)[GIGA] = random.choice([1, 1, 2])


def init_containers(random: Random, situation: Situation) -> None:
    """Init containers, some of which go on running beside the others."""
    for raw in _some(random, situation.pods):
        raw["spec"]["initContainers"] = [
            {
                "name": f"i{number}",
                "resources": {"requests": {"cpu": random.choice([1, 2, 3])}},
                **({"restartPolicy": "Always"} if random.random() < 0.4 else {}),
            }
            for number in range(random.choice([1, 2, 3]))
        ]


def overhead(random: Random, situation: Situation) -> None:
    """What a runtime takes on top."""
    for raw in _some(random, situation.pods):
        raw["spec"]["overhead"] = {"cpu": random.choice(["250m", "1"]), "memory": "100Mi"}


def pod_level_resources(random: Random, situation: Situation) -> None:
    """Requests of the pod as a whole replace those of its containers, which may not ask for more."""
    for raw in _some(random, situation.pods):
        for container in [*raw["spec"]["containers"], *raw["spec"].get("initContainers", ())]:
            container["resources"] = {"requests": {"cpu": "100m"}}
        raw["spec"]["resources"] = {"requests": {"cpu": random.choice([1, 2, 3])}}


def several_containers(random: Random, situation: Situation) -> None:
    """A second container."""
    for raw in _some(random, situation.pods):
        raw["spec"]["containers"].append({"name": "d", "resources": {"requests": {"cpu": "500m", "memory": "256Mi"}}})


def host_ports(random: Random, situation: Situation) -> None:
    """Ports of the node that only one pod can have, and no two running ones do."""
    taken = set()
    for raw in _some(random, situation.pods, 0.5):
        port: Json = {"containerPort": 80, "hostPort": random.choice([80, 80, 81])}
        place = raw["spec"].get("nodeName")
        if place and (place, port["hostPort"]) in taken:
            continue
        taken.add((place, port["hostPort"]))
        if random.random() < 0.3:
            port["hostIP"] = random.choice(["10.0.0.1", "0.0.0.0"])  # noqa: S104 - a wildcard in test data
        if random.random() < 0.2:
            port["protocol"] = "UDP"
        raw["spec"]["containers"][0]["ports"] = [port]


def negative_priorities(random: Random, situation: Situation) -> None:
    """Priorities below nothing."""
    for raw in _some(random, _bound(situation)):
        if "schedulingGroup" not in raw["spec"]:
            raw["spec"]["priority"] = random.choice([-5, -1, -(2**31), 2 * 10**9])


def unknown_starts(random: Random, situation: Situation) -> None:
    """Pods that have not started yet."""
    for raw in _some(random, _bound(situation)):
        raw["status"].pop("startTime", None)


def taints(random: Random, situation: Situation) -> None:
    """Taints of all effects, and what tolerates them."""
    for raw in _some(random, situation.nodes, 0.6):
        raw["spec"]["taints"] = [
            {
                "key": random.choice(["a", "b"]),
                "value": random.choice(["", "x", "y"]),
                "effect": random.choice(["NoSchedule", "NoExecute", "PreferNoSchedule", "PreferNoSchedule"]),
            }
            for _ in range(random.choice([1, 1, 2, 3]))
        ]
    tolerations: list[Json] = [
        {"key": "a", "operator": "Exists"},
        {"key": "b", "operator": "Equal", "value": "x"},
        {"key": "a", "operator": "Equal", "value": "y", "effect": "NoSchedule"},
        {"key": "b", "effect": "PreferNoSchedule", "operator": "Exists"},
        {"operator": "Exists"},
        {"operator": "Exists", "effect": "NoExecute"},
        {"key": "a", "value": "x"},
    ]
    chosen = random.sample(tolerations, random.choice([0, 1, 1, 2]))
    for raw in _pending(situation):
        raw["spec"]["tolerations"] = chosen


def node_affinity(random: Random, situation: Situation) -> None:
    """Required and preferred affinity with every operator."""
    for raw in situation.nodes:
        raw["metadata"]["labels"]["size"] = random.choice(["1", "2", "3", "x"])
        raw["metadata"]["labels"][ZONE] = random.choice(["a", "b", "c"])
    terms = [_term(random, situation) for _ in range(random.choice([1, 1, 2]))]
    preferred = [
        {"weight": random.choice([1, 10, 50]), "preference": _term(random, situation)}
        for _ in range(random.choice([0, 1, 2]))
    ]
    affinity: Json = {}
    if random.random() < 0.6:
        affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": terms}
    if preferred:
        affinity["preferredDuringSchedulingIgnoredDuringExecution"] = preferred
    for raw in _pending(situation):
        raw["spec"]["affinity"] = {"nodeAffinity": affinity}


def _term(random: Random, situation: Situation) -> Json:
    if random.random() < 0.15:
        name = random.choice(situation.nodes)["metadata"]["name"]
        operator = random.choice(["In", "NotIn"])
        return {"matchFields": [{"key": "metadata.name", "operator": operator, "values": [name]}]}
    expressions: list[Json] = [
        {"key": ZONE, "operator": "In", "values": ["a", "b"]},
        {"key": ZONE, "operator": "NotIn", "values": ["a"]},
        {"key": "size", "operator": "Gt", "values": ["1"]},
        {"key": "size", "operator": "Lt", "values": ["3"]},
        {"key": ZONE, "operator": "Exists"},
        {"key": "absent", "operator": "DoesNotExist"},
        {"key": "absent", "operator": "NotIn", "values": ["a"]},
    ]
    return {"matchExpressions": random.sample(expressions, random.choice([1, 1, 2]))}


def budgets_of_all_kinds(random: Random, situation: Situation) -> None:
    """Budgets that overlap, are empty, use expressions, or already count a pod as gone."""
    bound = _bound(situation)
    for raw in _some(random, bound, 0.6):
        raw["metadata"]["labels"] = {"app": random.choice(["x", "y"]), "tier": random.choice(["a", "b"])}
    selectors: list[Json] = [
        {},
        {"matchLabels": {"tier": "a"}},
        {"matchLabels": {"tier": "b", "app": "x"}},
        {"matchExpressions": [{"key": "app", "operator": "In", "values": ["x", "y"]}]},
        {"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["a"]}]},
        {"matchExpressions": [{"key": "app", "operator": "Exists"}], "matchLabels": {"tier": "a"}},
        {"matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]},
    ]
    for number, selector in enumerate(random.sample(selectors, random.choice([1, 2, 3]))):
        gone = tuple(raw["metadata"]["name"] for raw in _some(random, bound, 0.15))
        made = budget(f"odd{number}", random.choice([0, 0, 1, 2]), disrupted=gone, selector=selector)
        situation.budgets.append(made)


def other_namespaces(random: Random, situation: Situation) -> None:
    """Groups and budgets of the same name elsewhere."""
    for raw in _some(random, [raw for raw in _bound(situation) if not _is_of_pending_group(raw)], 0.4):
        raw["metadata"]["namespace"] = "other"
    for raw in list(situation.groups):
        if raw["metadata"]["name"] != PENDING_GROUP and random.random() < 0.7:
            twin = deepcopy(raw)
            twin["metadata"]["namespace"] = "other"
            twin["spec"]["disruptionMode"] = {random.choice(["all", "single"]): {}}
            situation.groups.append(twin)
    for raw in list(situation.budgets):
        if random.random() < 0.5:
            situation.budgets.append({**raw, "metadata": {**raw["metadata"], "namespace": "other"}})


def _is_of_pending_group(raw: Json) -> bool:
    return bool(raw["spec"].get("schedulingGroup", {}).get("podGroupName") == PENDING_GROUP)


def members_that_run(random: Random, situation: Situation) -> None:
    """Members of the pending group that have their place already."""
    if not situation.asks_for_group:
        return
    for number in range(random.choice([1, 2])):
        place = random.choice(situation.nodes)["metadata"]["name"]
        member = pod(
            f"m{number}",
            random.choice([1, 2]),
            10,
            on=place,
            group=PENDING_GROUP,
            spec={"schedulerName": "default-scheduler"},
        )
        situation.pods.insert(0, member)
    for raw in situation.groups:
        gang = raw["spec"]["schedulingPolicy"].get("gang")
        if raw["metadata"]["name"] == PENDING_GROUP and gang and random.random() < 0.6:
            gang["minCount"] += random.choice([1, 2])


def members_that_disagree(random: Random, situation: Situation) -> None:
    """Members with another priority or policy than their group."""
    for raw in _some(random, [raw for raw in situation.pods if "schedulingGroup" in raw["spec"]], 0.3):
        if random.random() < 0.6:
            raw["spec"]["priority"] = random.choice([3, 10, 12])
        else:
            raw["spec"]["preemptionPolicy"] = "Never"


def missing_groups(random: Random, situation: Situation) -> None:
    """Pods that name a group that is not there."""
    gone = [raw for raw in situation.groups if random.random() < 0.4]
    for raw in gone:
        situation.groups.remove(raw)


def groups_of_all_kinds(random: Random, situation: Situation) -> None:
    """Groups without a mode, with the basic policy, or larger than their pods."""
    for raw in situation.groups:
        if random.random() < 0.4:
            raw["spec"].pop("disruptionMode", None)
        elif random.random() < 0.4:
            raw["spec"]["disruptionMode"] = {"all": {}}
        if random.random() < 0.2:
            raw["spec"]["schedulingPolicy"] = random.choice([{"basic": {}}, {"gang": {"minCount": 2}}])


def finished_pods(random: Random, situation: Situation) -> None:
    """Pods that are over hold no room."""
    for number in range(random.choice([1, 2])):
        place = random.choice(situation.nodes)["metadata"]["name"]
        over = pod(f"f{number}", 4, 1, on=place, status={"phase": random.choice(["Succeeded", "Failed"])})
        situation.pods.insert(0, over)


def many_small_pods(random: Random, situation: Situation) -> None:
    """A node with many pods of which some must go, all equally important or nearly so."""
    name = f"n{len(situation.nodes) + 1}"
    situation.nodes.append(node(name, 8, memory="32Gi"))
    for number in range(8):
        crowd = pod(
            f"c{number}",
            1,
            random.choice([1, 1, 1, 2]),
            on=name,
            started=random.choice([1, 2, 3, 4, 5, 6]),
            spec={"schedulerName": "default-scheduler"},
        )
        situation.pods.insert(0, crowd)


def a_large_group(random: Random, situation: Situation) -> None:
    """A running group that has members on every node."""
    situation.groups.append(group("wide", random.choice([0, 1, 5]), mode=random.choice(["all", "single"])))
    for number, raw in enumerate(situation.nodes):
        member = pod(
            f"w{number}",
            random.choice([1, 2]),
            situation.groups[-1]["spec"]["priority"],
            on=raw["metadata"]["name"],
            group="wide",
            started=random.choice([1, 2, 3]),
            app=random.choice(["", "x"]),
            spec={"schedulerName": "default-scheduler"},
        )
        member["status"]["startTime"] = at(random.choice([1, 2, 3]))
        situation.pods.insert(0, member)


TWISTS: tuple[Twist, ...] = (
    fractions,
    nothing_asked,
    scarce_memory,
    local_storage,
    devices,
    init_containers,
    overhead,
    several_containers,
    host_ports,
    negative_priorities,
    unknown_starts,
    taints,
    node_affinity,
    budgets_of_all_kinds,
    other_namespaces,
    members_that_run,
    members_that_disagree,
    missing_groups,
    groups_of_all_kinds,
    finished_pods,
    many_small_pods,
    a_large_group,
    pod_level_resources,  # the last: others would make containers ask for more than their pod
)
