"""Random pod sets: the same total request spread over containers, init containers, sidecars, limits and overhead."""

from tests.differential.catalogue import NODE_LABEL, NODE_LABEL_NUMERIC, TAINT_KEY, Flavor, Json
from tests.differential.dice import Dice
from tests.differential.spellings import spell

_NAMES = [["main"], ["launcher", "worker"], ["driver", "workers"], ["head", "small", "large"]]


def pod_set_names(dice: Dice) -> list[str]:
    """Return the names of a workload's pod sets."""
    return dice.choices(_NAMES, [7, 1, 1, 0.6])[0]


def pod_set(dice: Dice, name: str, count: int, per_pod: dict[str, int]) -> Json:
    """Return a pod set whose pods request these amounts."""
    template = _pod_spec(dice, {resource: amount for resource, amount in per_pod.items() if resource != "pods"})
    return {"name": name, "count": count, "template": {"spec": template}}


def _pod_spec(dice: Dice, per_pod: dict[str, int]) -> Json:
    if dice.chance(0.85):
        return {"containers": [_container(dice, "c", per_pod)]}
    shape = dice.choice(["split", "init", "sidecar", "overhead", "limits", "zero", "pod-level", "limits-below"])
    if shape == "limits-below" and not dice.rarely(0.1):
        shape = "zero"
    half = {resource: amount // 2 for resource, amount in per_pod.items()}
    rest = {resource: amount - half[resource] for resource, amount in per_pod.items()}
    main = _container(dice, "c", per_pod)
    if shape == "split":
        return {"containers": [_container(dice, "c", half), _container(dice, "d", rest)]}
    if shape == "init":
        return {"initContainers": [_container(dice, "i", half)], "containers": [main]}
    if shape == "sidecar":
        sidecar = _container(dice, "s", half) | {"restartPolicy": "Always"}
        return {"initContainers": [sidecar], "containers": [_container(dice, "c", rest)]}
    if shape == "overhead":
        overhead = {resource: spell(dice, resource, amount) for resource, amount in half.items() if amount}
        return {"containers": [_container(dice, "c", rest)], "overhead": overhead}
    if shape == "limits":
        limits = main["resources"]["requests"]
        return {"containers": [{"name": "c", "resources": {"limits": limits}}]}
    if shape == "pod-level":
        return {"containers": [_container(dice, "c", half)], "resources": main["resources"]}
    if shape == "limits-below":
        main["resources"]["limits"] = {resource: spell(dice, resource, amount) for resource, amount in half.items()}
        return {"containers": [main]}
    main["resources"]["requests"][dice.choice(["memory", "nvidia.com/gpu", "example.com/unknown"])] = "0"
    return {"containers": [main]}


def _container(dice: Dice, name: str, requests: dict[str, int]) -> Json:
    spelled = {resource: spell(dice, resource, amount) for resource, amount in requests.items()}
    return {"name": name, "resources": {"requests": spelled}}


def add_placement(dice: Dice, pod_spec: Json, flavors: list[Flavor]) -> None:
    """Add node selectors, affinity and tolerations that suit some of the flavors."""
    labelled = [flavor for flavor in flavors if flavor.labels]
    if labelled and dice.chance(0.3):
        if dice.chance(0.5):
            pod_spec["nodeSelector"] = _selector(dice, labelled)
        else:
            pod_spec["affinity"] = _affinity(dice, labelled)
    if any(flavor.taints for flavor in flavors) and dice.chance(0.7):
        pod_spec["tolerations"] = [_toleration(dice, flavors)]


def _selector(dice: Dice, labelled: list[Flavor]) -> dict[str, str]:
    selector = dict(dice.choice(labelled).labels)
    if dice.chance(0.2):
        selector["zone"] = "a"  # no flavor says anything about zones, so it does not count
    if dice.chance(0.1):
        selector[next(iter(selector))] = "elsewhere"
    return selector


def _affinity(dice: Dice, labelled: list[Flavor]) -> Json:
    terms = [_term(dice, labelled) for _ in range(dice.weighted({1: 4, 2: 2}))]
    required: Json = {"nodeSelectorTerms": terms}
    affinity: Json = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    return affinity


def _term(dice: Dice, labelled: list[Flavor]) -> Json:
    operator = dice.weighted({"In": 4, "NotIn": 3, "Exists": 1, "DoesNotExist": 1, "Gt": 0.7, "Lt": 0.7})
    expression: Json = {"key": NODE_LABEL, "operator": operator}
    if operator in {"In", "NotIn"}:
        expression["values"] = dice.some([flavor.name for flavor in labelled])
    elif operator in {"Gt", "Lt"}:
        expression |= {"key": NODE_LABEL_NUMERIC, "values": [str(dice.randint(0, 4))]}
    expressions = [expression]
    if dice.chance(0.25):
        expressions.append({"key": "zone", "operator": "In", "values": ["a"]})
    return {"matchExpressions": expressions[dice.randint(0, len(expressions) - 1) :]}


def _toleration(dice: Dice, flavors: list[Flavor]) -> Json:
    return dice.choice(
        [
            {"key": TAINT_KEY, "operator": "Exists"},
            {"operator": "Exists"},
            {"key": TAINT_KEY, "operator": "Equal", "value": dice.choice(flavors).name, "effect": "NoSchedule"},
            {"key": TAINT_KEY, "value": dice.choice(flavors).name},
            {"key": TAINT_KEY, "operator": "Exists", "effect": dice.choice(["NoSchedule", "NoExecute"])},
        ]
    )
