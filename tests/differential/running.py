"""Random workloads that hold quota: they fill a cluster nearly, fully, or beyond."""

from datetime import datetime, timedelta

from tests.differential.catalogue import STEPS, Cluster, Json, Profile, Queue
from tests.differential.dice import Dice
from tests.differential.pods import pod_set_names
from tests.differential.spellings import spell
from tests.differential.workloads import NOW, PREEMPTION_REASONS, Sizing, condition, creation, workload


def fill(dice: Dice, cluster: Cluster, settings: Profile) -> None:
    """Add running workloads until the quota is used to the chosen degree."""
    degree = dice.weighted({0.6: 0.7, 0.85: 1.5, 1.0: 7, 1.2: 1})
    largest = dice.choice([1, 1, 2, 4, 8])
    hogs = dice.some(cluster.queues) if dice.chance(0.6) else cluster.queues
    wanted, added, refused = dice.choice([8, 20, 40, 60]), 0, 0
    while added < wanted and refused < 60:
        queue = dice.choice(hogs)
        sizings = [_size(dice, queue, name, largest) for name in pod_set_names(dice)]
        placement = {group.resources[0]: dice.choice(group.flavors) for group in queue.groups}
        usage = _usage(queue, sizings, placement)
        if not all(_has_room(cluster, queue, key, amount, degree) for key, amount in usage.items()):
            refused += 1
            largest = max(1, largest - refused % 3 // 2)
            continue
        for key, amount in usage.items():
            queue.used[key] = queue.used.get(key, 0) + amount
        cluster.objects.append(_running(dice, settings, queue, f"wl-{added:02d}", sizings, placement))
        added += 1


def _has_room(cluster: Cluster, queue: Queue, key: tuple[str, str], amount: int, degree: float) -> bool:
    capacity = min(cluster.capacity[queue.root][key], 10**15)
    return cluster.used_below(queue.root, *key) + amount <= capacity * degree


def _size(dice: Dice, queue: Queue, name: str, largest: int) -> Sizing:
    resources = queue.covered() if dice.chance(0.5) else dice.some(queue.covered())
    per_pod = {resource: dice.randint(1, largest) * STEPS[resource] for resource in resources}
    return Sizing(name, dice.weighted({1: 6, 2: 2, 3: 1}), per_pod)


def _requested(queue: Queue, sizing: Sizing) -> dict[str, int]:
    total = {resource: amount * sizing.count for resource, amount in sizing.per_pod.items() if resource != "pods"}
    return total | ({"pods": sizing.count} if "pods" in queue.covered() else {})


def _usage(queue: Queue, sizings: list[Sizing], placement: dict[str, str]) -> dict[tuple[str, str], int]:
    usage: dict[tuple[str, str], int] = {}
    for sizing in sizings:
        for resource, amount in _requested(queue, sizing).items():
            key = placement[queue.group_of(resource).resources[0]], resource
            usage[key] = usage.get(key, 0) + amount
    return usage


def _running(
    dice: Dice, settings: Profile, queue: Queue, name: str, sizings: list[Sizing], placement: dict[str, str]
) -> Json:
    created = creation(dice)
    result = workload(dice, queue, name, sizings, created)
    reserved = dice.choice([created, NOW - timedelta(minutes=dice.randint(1, 3)), created + timedelta(minutes=1)])
    if dice.rarely(0.005):
        reserved = NOW + timedelta(minutes=1)
    assignments = [_assignment(dice, queue, sizing, placement) for sizing in sizings]
    result["status"] = {"admission": {"clusterQueue": queue.name, "podSetAssignments": assignments}}
    result["status"]["conditions"] = _conditions(dice, settings, reserved)
    if dice.rarely(0.03):
        chosen = dice.choice(sizings)
        result["status"]["reclaimablePods"] = [{"name": chosen.name, "count": dice.randint(1, chosen.count)}]
    if dice.rarely(0.01):
        result["spec"]["active"] = False
    if dice.rarely(0.01):
        result["spec"]["podSets"][0]["count"] += dice.randint(1, 3)  # it was admitted with fewer pods than it wanted
    return result


def _assignment(dice: Dice, queue: Queue, sizing: Sizing, placement: dict[str, str]) -> Json:
    requested = _requested(queue, sizing)
    assignment: Json = {
        "name": sizing.name,
        "flavors": {resource: placement[queue.group_of(resource).resources[0]] for resource in requested},
        "resourceUsage": {resource: spell(dice, resource, amount) for resource, amount in requested.items()},
    }
    if dice.rarely(0.01):
        assignment["flavors"]["example.com/retired"] = dice.choice(["default", "gone"])
        assignment["resourceUsage"]["example.com/retired"] = "3"
    if dice.rarely(0.01):
        assignment["resourceUsage"][dice.choice(list(requested))] = "0"
    if not dice.rarely(0.02):
        assignment["count"] = sizing.count
    return assignment


def _conditions(dice: Dice, settings: Profile, reserved: datetime) -> list[Json]:
    conditions = [condition("QuotaReserved", "True", "QuotaReserved", reserved)]
    if dice.chance(0.9):
        conditions.append(condition("Admitted", "True", "Admitted", reserved))
    if dice.rarely(0.04):
        moment = NOW - timedelta(minutes=dice.randint(0, 30))
        conditions.append(condition("Evicted", "True", dice.choice(settings.evictions), moment))
        conditions.append(condition("Preempted", "True", dice.choice(PREEMPTION_REASONS), moment))
    elif dice.rarely(0.03):
        conditions.append(condition("Evicted", "False", "QuotaReserved", reserved))
        conditions.append(condition("Preempted", "False", "QuotaReserved", reserved))
    elif dice.rarely(0.015):
        conditions.append(condition("Finished", "True", "Succeeded", NOW))
    return conditions
