"""Random workloads: running ones that fill the quota nearly or fully, and pending ones that need somebody's place."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from tests.differential.catalogue import STEPS, Cluster, Json, Queue, kueue_object
from tests.differential.dice import Dice
from tests.differential.pods import add_placement, pod_set, pod_set_names
from tests.differential.spellings import spell

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
PREEMPTION_REASONS = ["InClusterQueue", "InCohortReclamation", "InCohortReclaimWhileBorrowing", "InCohortFairSharing"]
_BOOSTS = ["10", "50", "100", "150", "-50", "-100", "1000", "+7", "2147483647", "2147483648", "1_000", "x", ""]


@dataclass(frozen=True, slots=True)
class Sizing:
    """A pod set of the generator: how many pods, and what each asks for."""

    name: str
    count: int
    per_pod: dict[str, int]


def rfc3339(moment: datetime) -> str:
    """Return the moment as the API writes it."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def condition(kind: str, status: str, reason: str, moment: datetime) -> Json:
    """Return a status condition; Kueue decides nothing by the message."""
    return {"type": kind, "status": status, "reason": reason, "message": "", "lastTransitionTime": rfc3339(moment)}


def fill(dice: Dice, cluster: Cluster) -> None:
    """Add running workloads until the quota is used to the chosen degree."""
    degree = dice.weighted({0.6: 0.7, 0.85: 1.5, 1.0: 7, 1.2: 1})
    largest = dice.choice([1, 1, 2, 4, 8])
    hogs = dice.some(cluster.queues) if dice.chance(0.6) else cluster.queues
    wanted, added, refused = dice.choice([8, 20, 40, 60]), 0, 0
    while added < wanted and refused < 60:
        queue = dice.choice(hogs)
        sizings = [_running_size(dice, queue, name, largest) for name in pod_set_names(dice)]
        placement = {group.resources[0]: dice.choice(group.flavors) for group in queue.groups}
        usage = _usage(queue, sizings, placement)
        if not all(_has_room(cluster, queue, key, amount, degree) for key, amount in usage.items()):
            refused += 1
            largest = max(1, largest - refused % 3 // 2)
            continue
        for key, amount in usage.items():
            queue.used[key] = queue.used.get(key, 0) + amount
        cluster.objects.append(_running(dice, queue, f"wl-{added:02d}", sizings, placement))
        added += 1


def _has_room(cluster: Cluster, queue: Queue, key: tuple[str, str], amount: int, degree: float) -> bool:
    capacity = min(cluster.capacity[queue.root][key], 10**15)
    return cluster.used_below(queue.root, *key) + amount <= capacity * degree


def _running_size(dice: Dice, queue: Queue, name: str, largest: int) -> Sizing:
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


def _running(dice: Dice, queue: Queue, name: str, sizings: list[Sizing], placement: dict[str, str]) -> Json:
    created = _creation(dice)
    workload = _workload(dice, queue, name, sizings, created)
    reserved = dice.choice([created, NOW - timedelta(minutes=dice.randint(1, 3)), created + timedelta(minutes=1)])
    assignments = [_assignment(dice, queue, sizing, placement) for sizing in sizings]
    status: Json = {"admission": {"clusterQueue": queue.name, "podSetAssignments": assignments}}
    status["conditions"] = _running_conditions(dice, reserved)
    if dice.chance(0.03):
        chosen = dice.choice(sizings)
        status["reclaimablePods"] = [{"name": chosen.name, "count": dice.randint(1, chosen.count)}]
    workload["status"] = status
    if dice.chance(0.01):
        workload["spec"]["active"] = False
    return workload


def _assignment(dice: Dice, queue: Queue, sizing: Sizing, placement: dict[str, str]) -> Json:
    requested = _requested(queue, sizing)
    assignment: Json = {
        "name": sizing.name,
        "flavors": {resource: placement[queue.group_of(resource).resources[0]] for resource in requested},
        "resourceUsage": {resource: spell(dice, resource, amount) for resource, amount in requested.items()},
    }
    if dice.chance(0.98):
        assignment["count"] = sizing.count
    return assignment


def _running_conditions(dice: Dice, reserved: datetime) -> list[Json]:
    conditions = [condition("QuotaReserved", "True", "QuotaReserved", reserved)]
    if dice.chance(0.9):
        conditions.append(condition("Admitted", "True", "Admitted", reserved))
    if dice.chance(0.04):
        moment = NOW - timedelta(minutes=dice.randint(0, 3))
        conditions.append(condition("Evicted", "True", "Preempted", moment))
        conditions.append(condition("Preempted", "True", dice.choice(PREEMPTION_REASONS), moment))
    elif dice.chance(0.03):
        conditions.append(condition("Evicted", "False", "QuotaReserved", reserved))
        conditions.append(condition("Preempted", "False", "QuotaReserved", reserved))
    elif dice.chance(0.015):
        conditions.append(condition("Finished", "True", "Succeeded", NOW))
    return conditions


def pending(dice: Dice, cluster: Cluster, queue: Queue, name: str) -> Json:
    """Return a pending workload of the queue, sized by what is left there."""
    names = pod_set_names(dice)
    resources = queue.covered() if dice.chance(0.8) else dice.some(queue.covered())
    contested = dice.choice(resources)
    wants = {
        resource: _wanted(dice, cluster, queue, resource)
        if resource == contested or dice.chance(0.25)
        else dice.randint(1, 2) * STEPS[resource]
        for resource in resources
        if resource != "pods"
    }
    sizings = []
    for pod_set_name in names:
        count = dice.weighted({1: 6, 2: 2, 3: 1, 5: 0.7, 10: 0.3})
        shares = {resource: max(1, want // len(names) // count) for resource, want in wants.items()}
        sizings.append(Sizing(pod_set_name, count, shares))
    workload = _workload(dice, queue, name, sizings, _creation(dice))
    for spec in workload["spec"]["podSets"]:
        add_placement(dice, spec["template"]["spec"], cluster.flavors)
        if dice.chance(0.15) and spec["count"] > 1:
            spec["minCount"] = dice.randint(1, spec["count"])
    if dice.chance(0.015):
        requests = workload["spec"]["podSets"][0]["template"]["spec"]["containers"][0].get("resources", {})
        requests.setdefault("requests", {})["example.com/unknown"] = "1"
    _add_pending_status(dice, workload, sizings)
    return workload


def _wanted(dice: Dice, cluster: Cluster, queue: Queue, resource: str) -> int:
    if dice.chance(0.01):
        return 10**13
    group, step = queue.group_of(resource), STEPS[resource]
    roomiest = max(group.flavors, key=lambda flavor: _free(cluster, queue, (flavor, resource)))
    key = (roomiest if dice.chance(0.6) else dice.choice(group.flavors)), resource
    nominal = min(queue.nominal[key], 40 * step)
    own_free = max(0, nominal - queue.used.get(key, 0))
    more = dice.randint(1, 3) * step
    wants = [more, nominal, nominal + more, max(step, nominal // 2), own_free + more, _free(cluster, queue, key) + more]
    want = dice.choices(wants, [2, 2, 1, 2, 3, 4])[0]
    return max(step, want) + (dice.choice([-1, 1]) if dice.chance(0.04) else 0)


def _free(cluster: Cluster, queue: Queue, key: tuple[str, str]) -> int:
    capacity = min(cluster.capacity[queue.root][key], 10**6 * STEPS[key[1]])
    return min(max(0, capacity - cluster.used_below(queue.root, *key)), 40 * STEPS[key[1]])


def _add_pending_status(dice: Dice, workload: Json, sizings: list[Sizing]) -> None:
    status: Json = {}
    if dice.chance(0.2):
        moment = NOW - timedelta(minutes=dice.randint(0, 40))
        status["conditions"] = [condition("QuotaReserved", "False", "Pending", moment)]
        reason = dice.choice(["Preempted", "PodsReadyTimeout", "AdmissionCheck"])
        if dice.chance(0.7):
            status["conditions"].append(condition("Evicted", "True", reason, moment))
            status["conditions"].append(condition("Preempted", "True", dice.choice(PREEMPTION_REASONS), moment))
    if dice.chance(0.04):
        chosen = dice.choice(sizings)
        status["reclaimablePods"] = [{"name": chosen.name, "count": dice.randint(0, chosen.count)}]
    if status:
        workload["status"] = status


def _workload(dice: Dice, queue: Queue, name: str, sizings: list[Sizing], created: datetime) -> Json:
    spec: Json = {
        "queueName": f"lq-{queue.name}",
        "active": True,
        "podSets": [pod_set(dice, sizing.name, sizing.count, sizing.per_pod) for sizing in sizings],
    }
    if dice.chance(0.95):
        spec["priority"] = dice.weighted({0: 4, 1: 1, 50: 2, 99: 1, 100: 4, 200: 1, -10: 0.5, 2**31 - 1: 0.1})
    workload = kueue_object("Workload", name, spec, dice.choice(queue.namespaces))
    workload["metadata"]["uid"] = f"{dice.getrandbits(32):08x}-{dice.getrandbits(16):04x}"
    workload["metadata"]["creationTimestamp"] = rfc3339(created)
    if dice.chance(0.2):
        workload["metadata"]["annotations"] = {"kueue.x-k8s.io/priority-boost": dice.choice(_BOOSTS)}
    return workload


def _creation(dice: Dice) -> datetime:
    """Return one of a few moments, so that ties are common, or any second of the last two days."""
    if dice.chance(0.6):
        return NOW - timedelta(minutes=10 * dice.randint(1, 4))
    return NOW - timedelta(seconds=dice.randint(60, 172_800))
