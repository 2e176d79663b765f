"""Random workloads that wait, sized so that they need another one's place."""

from datetime import timedelta

from tests.differential.catalogue import STEPS, Cluster, Json, Queue
from tests.differential.dice import Dice
from tests.differential.namespaces import RUNTIME_CLASS
from tests.differential.pods import add_placement, pod_set_names
from tests.differential.workloads import NOW, PREEMPTION_REASONS, Sizing, condition, creation, rfc3339, workload


def pending(dice: Dice, cluster: Cluster, queue: Queue, name: str) -> Json:
    """Return a pending workload of the queue, sized by what is left there."""
    sizings = _sizings(dice, cluster, queue)
    result = workload(dice, queue, name, sizings, creation(dice))
    for spec in result["spec"]["podSets"]:
        pod_spec = spec["template"]["spec"]
        add_placement(dice, pod_spec, cluster.flavors)
        if spec["count"] > 1 and dice.chance(0.4):
            spec["minCount"] = dice.randint(1, spec["count"])
        if dice.rarely(0.02):
            pod_spec["runtimeClassName"] = RUNTIME_CLASS
        if dice.rarely(0.01):
            requests = pod_spec["containers"][0]["resources"].setdefault("requests", {})
            requests["example.com/unknown"] = "1"
    _add_status(dice, result, sizings)
    return result


def _sizings(dice: Dice, cluster: Cluster, queue: Queue) -> list[Sizing]:
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
    counts = {1: 6, 2: 2, 3: 1, 5: 0.7, 10: 0.3} if dice.chance(0.8) else {4: 1, 6: 1, 7: 1, 12: 1}
    sizings = []
    for name in names:
        count = 10**6 if dice.rarely(0.003) else dice.weighted(counts)
        shares = {resource: max(1, want // len(names) // count) for resource, want in wants.items()}
        sizings.append(Sizing(name, count, shares))
    return sizings


def _wanted(dice: Dice, cluster: Cluster, queue: Queue, resource: str) -> int:
    if dice.rarely(0.008):
        return dice.choice([10**13, 2**62])
    group, step = queue.group_of(resource), STEPS[resource]
    roomiest = max(group.flavors, key=lambda flavor: _free(cluster, queue, (flavor, resource)))
    key = (roomiest if dice.chance(0.6) else dice.choice(group.flavors)), resource
    nominal = min(queue.nominal[key], 40 * step)
    own_free = max(0, nominal - queue.used.get(key, 0))
    more = dice.randint(1, 3) * step
    wants = [more, nominal, nominal + more, max(step, nominal // 2), own_free + more, _free(cluster, queue, key) + more]
    want = dice.choices(wants, [2, 2, 1, 2, 3, 4])[0]
    return max(step, want) + (dice.choice([-1, 1]) if dice.rarely(0.04) else 0)


def _free(cluster: Cluster, queue: Queue, key: tuple[str, str]) -> int:
    capacity = min(cluster.capacity[queue.root][key], 10**6 * STEPS[key[1]])
    return min(max(0, capacity - cluster.used_below(queue.root, *key)), 40 * STEPS[key[1]])


def _add_status(dice: Dice, result: Json, sizings: list[Sizing]) -> None:
    status: Json = {}
    if dice.chance(0.2):
        moment = NOW - timedelta(minutes=dice.randint(0, 40))
        status["conditions"] = [condition("QuotaReserved", "False", "Pending", moment)]
        reason = dice.choice(["Preempted", "PodsReadyTimeout", "AdmissionCheck"])
        if dice.chance(0.7):
            status["conditions"].append(condition("Evicted", "True", reason, moment))
            status["conditions"].append(condition("Preempted", "True", dice.choice(PREEMPTION_REASONS), moment))
    if dice.rarely(0.04):
        chosen = dice.some(sizings)
        status["reclaimablePods"] = [{"name": one.name, "count": dice.randint(0, one.count)} for one in chosen]
    if dice.rarely(0.003):
        state = dice.choice(["Retry", "Rejected", "Ready"])
        check = {"name": "check", "state": state, "message": "", "lastTransitionTime": rfc3339(NOW)}
        status["admissionChecks"] = [check]
    if status:
        result["status"] = status
