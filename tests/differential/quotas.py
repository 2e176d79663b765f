"""Random clusters: flavors, cohort trees with their own quota, ClusterQueues with every preemption policy."""

from collections import defaultdict

from tests.differential.catalogue import (
    NODE_LABEL,
    NODE_LABEL_NUMERIC,
    STEPS,
    TAINT_KEY,
    Cluster,
    Flavor,
    Group,
    Json,
    Profile,
    Queue,
    kueue_object,
)
from tests.differential.dice import Dice
from tests.differential.namespaces import namespace, runtime_class
from tests.differential.spellings import UNLIMITED, spell

_WEIGHTS = {None: 5, "1": 2, "2": 2, "500m": 2, "3": 1, "250m": 1, "0": 0.7, "1.5": 0.3, "1e3": 0.2}


def make_cluster(dice: Dice, settings: Profile) -> Cluster:
    """Return a cluster without workloads."""
    namespaces = ["team-a", "team-b"][: dice.randint(1, 2)]
    flavors = _flavors(dice)
    groups = _groups(dice, [flavor.name for flavor in flavors])
    parents = _cohort_tree(dice)
    uniform = (
        {resource: dice.randint(2, 8) * STEPS[resource] for resource in STEPS} if dice.chance(settings.symmetry) else {}
    )
    cluster = Cluster(flavors, [], namespaces, defaultdict(lambda: defaultdict(int)), [], uniform)
    cluster.objects += [item for name in namespaces for item in namespace(dice, name)]
    if dice.rarely(0.05):
        cluster.objects.append(runtime_class(dice))
    cluster.objects += [_flavor_object(dice, flavor) for flavor in flavors if not dice.rarely(0.003)]
    for cohort, parent in parents.items():
        _add_cohort(dice, cluster, groups, parents, (cohort, parent))
    for index in range(dice.weighted({1: 1, 2: 3, 3: 3, 4: 3, 5: 2, 6: 2, 8: 0.5})):
        _add_queue(dice, cluster, groups, parents, f"cq-{'abcdefgh'[index]}")
    return cluster


def _flavors(dice: Dice) -> list[Flavor]:
    names = ["default", "spot", "reserved", "burst"][: dice.weighted({1: 3, 2: 4, 3: 3, 4: 1})]
    dice.shuffle(names)
    flavors = []
    for index, name in enumerate(names):
        labels = {NODE_LABEL: name} if dice.chance(0.25) else {}
        if dice.rarely(0.08):
            labels[NODE_LABEL_NUMERIC] = str(index + 1)
        effect = dice.weighted({"NoSchedule": 4, "NoExecute": 1, "PreferNoSchedule": 2})
        taints = [{"key": TAINT_KEY, "value": name, "effect": effect}] if dice.rarely(0.08) else []
        flavors.append(Flavor(name, labels, taints))
    return flavors


def _groups(dice: Dice, flavors: list[str]) -> list[Group]:
    others = [resource for resource in STEPS if resource != "cpu"]
    resources = dice.sample(others, dice.weighted({0: 4, 1: 4, 2: 3, 3: 1}))
    resources.insert(dice.randint(0, len(resources)), "cpu")
    count = min(len(resources), len(flavors), dice.weighted({1: 4, 2: 2, 3: 0.5}))
    groups = [Group([resource], [flavor]) for resource, flavor in zip(resources[:count], flavors[:count], strict=True)]
    for resource in resources[count:]:
        dice.choice(groups).resources.append(resource)
    for flavor in flavors[count:]:
        dice.choice(groups).flavors.append(flavor)
    return groups


def _cohort_tree(dice: Dice) -> dict[str, str | None]:
    """Return the parent of each cohort; no cohort at all is a tree too."""
    depth = dice.weighted({0: 1, 1: 4, 2: 4, 3: 3})
    if depth == 0:
        return {}
    parents: dict[str, str | None] = {"root": None}
    if dice.rarely(0.08):
        parents["root-1"] = None
    levels = [list(parents)]
    for _ in range(depth - 1):
        children = [f"cohort-{len(parents) + index}" for index in range(dice.randint(1, 3))]
        parents |= {child: dice.choice(levels[-1]) for child in children}
        levels.append(children)
    return parents


def _root_of(parents: dict[str, str | None], cohort: str) -> str:
    while (parent := parents[cohort]) is not None:
        cohort = parent
    return cohort


def _add_cohort(
    dice: Dice, cluster: Cluster, groups: list[Group], parents: dict[str, str | None], edge: tuple[str, str | None]
) -> None:
    cohort, parent = edge
    if parent is None and dice.chance(0.2):
        return  # exists only because its children name it
    spec: Json = {} if parent is None else {"parentName": parent}
    if dice.chance(0.4):
        quotas, nominal = _resource_groups(dice, cluster, dice.some(groups), has_parent=parent is not None)
        spec["resourceGroups"] = quotas
        for key, amount in nominal.items():
            cluster.capacity[_root_of(parents, cohort)][key] += amount
    if not cluster.uniform_nominal:
        _add_weight(dice, spec)
    cluster.objects.append(kueue_object("Cohort", cohort, spec))


def _add_queue(dice: Dice, cluster: Cluster, groups: list[Group], parents: dict[str, str | None], name: str) -> None:
    cohort = dice.choice(list(parents)) if parents and dice.chance(0.93) else None
    own = [_part_of(dice, group) for group in (dice.some(groups) if dice.chance(0.3) else groups)]
    quotas, nominal = _resource_groups(dice, cluster, own, has_parent=cohort is not None)
    spec: Json = {
        "queueingStrategy": dice.choice(["BestEffortFIFO", "StrictFIFO"]),
        "resourceGroups": quotas,
        "stopPolicy": dice.weighted({"None": 80, "Hold": 1, "HoldAndDrain": 0.5}),
    }
    if cohort is not None:
        spec["cohortName"] = cohort
    _add_selector(dice, spec)
    _add_preemption(dice, spec)
    _add_fungibility(dice, spec)
    if not cluster.uniform_nominal:
        _add_weight(dice, spec)
    root = name if cohort is None else _root_of(parents, cohort)
    for key, amount in nominal.items():
        cluster.capacity[root][key] += amount
    cluster.queues.append(Queue(name, root, own, nominal, cluster.namespaces, spec["stopPolicy"] != "None"))
    cluster.objects.append(kueue_object("ClusterQueue", name, spec))
    cluster.objects += [
        kueue_object("LocalQueue", f"lq-{name}", {"clusterQueue": name, "stopPolicy": "None"}, namespace)
        for namespace in cluster.namespaces
    ]


def _part_of(dice: Dice, group: Group) -> Group:
    if dice.chance(0.75):
        return group
    return Group(group.resources, dice.some(group.flavors))


def _resource_groups(
    dice: Dice, cluster: Cluster, groups: list[Group], *, has_parent: bool
) -> tuple[list[Json], dict[tuple[str, str], int]]:
    nominal: dict[tuple[str, str], int] = {}
    quotas: list[Json] = []
    for group in groups:
        flavors = []
        for flavor in group.flavors:
            resources = []
            for resource in group.resources:
                nominal[flavor, resource] = _nominal(dice, cluster, resource)
                resources.append(_quota(dice, resource, nominal[flavor, resource], has_parent=has_parent))
            flavors.append({"name": flavor, "resources": resources})
        quotas.append({"coveredResources": group.resources, "flavors": flavors})
    return quotas, nominal


def _nominal(dice: Dice, cluster: Cluster, resource: str) -> int:
    if cluster.uniform_nominal:
        return cluster.uniform_nominal[resource]
    if dice.rarely(0.006):
        return dice.choice([UNLIMITED, UNLIMITED // 2, UNLIMITED - 1])
    steps = dice.weighted({0: 1.5, dice.randint(1, 5): 5, dice.randint(6, 14): 2.5, dice.randint(15, 40): 0.4})
    return steps * STEPS[resource]


def _quota(dice: Dice, resource: str, nominal: int, *, has_parent: bool) -> Json:
    quota: Json = {"name": resource, "nominalQuota": spell(dice, resource, nominal)}
    if not has_parent:
        return quota
    if dice.chance(0.15):
        limit = dice.choice([0, 1, 2, 4, 8, 16]) * STEPS[resource]
        quota["borrowingLimit"] = spell(dice, resource, UNLIMITED if dice.rarely(0.02) else limit)
    if dice.chance(0.15):
        bound = min(nominal, 40 * STEPS[resource]) // STEPS[resource]
        limit = dice.choice([0, dice.randint(0, bound)]) * STEPS[resource]
        quota["lendingLimit"] = spell(dice, resource, UNLIMITED if dice.rarely(0.02) else limit)
    return quota


def _add_selector(dice: Dice, spec: Json) -> None:
    kind = dice.weighted({"all": 60, "labels": 1, "expressions": 1, "none": 0.3})
    if kind == "all":
        spec["namespaceSelector"] = {}
    elif kind == "labels":
        spec["namespaceSelector"] = {"matchLabels": {"tier": "gold"}}
    elif kind == "expressions":
        operator = dice.choice(["In", "NotIn", "Exists", "DoesNotExist"])
        expression: Json = {"key": "tier", "operator": operator}
        if operator in {"In", "NotIn"}:
            expression["values"] = ["gold", "silver"]
        spec["namespaceSelector"] = {"matchExpressions": [expression]}


def _add_preemption(dice: Dice, spec: Json) -> None:
    if dice.rarely(0.02):
        return
    reclaim = dice.weighted({"Any": 4, "LowerPriority": 3, "LowerOrNewerEqualPriority": 2, "Never": 1})
    spec["preemption"] = {
        "withinClusterQueue": dice.weighted({"LowerPriority": 4, "LowerOrNewerEqualPriority": 4, "Never": 1.5}),
        "reclaimWithinCohort": reclaim,
    }
    if dice.chance(0.35):
        return
    borrow: Json = {
        "policy": "Never" if reclaim == "Never" else dice.choice(["LowerPriority", "LowerPriority", "Never"])
    }
    if borrow["policy"] != "Never" and dice.chance(0.5):
        borrow["maxPriorityThreshold"] = dice.choice([-10, 0, 50, 100, 1000])
    spec["preemption"]["borrowWithinCohort"] = borrow


def _add_fungibility(dice: Dice, spec: Json) -> None:
    if dice.rarely(0.05):
        return
    fungibility = {
        "whenCanBorrow": dice.choice(["MayStopSearch", "TryNextFlavor"]),
        "whenCanPreempt": dice.choice(["MayStopSearch", "TryNextFlavor"]),
    }
    if set(fungibility.values()) == {"TryNextFlavor"} and dice.chance(0.6):
        fungibility["preference"] = dice.choice(["BorrowingOverPreemption", "PreemptionOverBorrowing"])
    spec["flavorFungibility"] = fungibility


def _add_weight(dice: Dice, spec: Json) -> None:
    weight = dice.weighted(_WEIGHTS)
    if weight is not None:
        spec["fairSharing"] = {"weight": weight}


def _flavor_object(dice: Dice, flavor: Flavor) -> Json:
    spec: Json = {}
    if flavor.labels:
        spec["nodeLabels"] = flavor.labels
    if flavor.taints:
        spec["nodeTaints"] = flavor.taints
        if dice.chance(0.15):
            spec["tolerations"] = [{"key": TAINT_KEY, "operator": "Exists"}]
    return kueue_object("ResourceFlavor", flavor.name, spec)
