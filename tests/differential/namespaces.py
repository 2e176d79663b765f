"""Random namespaces, and what in them changes the requests of pods: LimitRange, and the cluster's RuntimeClass."""

from tests.differential.catalogue import STEPS, Json
from tests.differential.dice import Dice
from tests.differential.spellings import spell

RUNTIME_CLASS = "sandboxed"


def namespace(dice: Dice, name: str) -> list[Json]:
    """Return the namespace and its LimitRange, if it has one."""
    metadata: Json = {"name": name}
    if dice.chance(0.5):
        metadata["labels"] = {"tier": dice.choice(["gold", "silver", "bronze"])}
    objects = [{"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}]
    if dice.rarely(0.02):
        objects.append(_limit_range(dice, name))
    return objects


def _limit_range(dice: Dice, namespace: str) -> Json:
    limit: Json = {"type": dice.weighted({"Container": 3, "Pod": 1})}
    bounds = {"max": 100, "min": 1} | ({"default": 2, "defaultRequest": 1} if limit["type"] == "Container" else {})
    for bound in dice.some(list(bounds)):
        resources = dice.some(["cpu", "memory"])
        limit[bound] = {name: spell(dice, name, bounds[bound] * STEPS[name]) for name in resources}
    metadata = {"name": "limits", "namespace": namespace}
    return {"apiVersion": "v1", "kind": "LimitRange", "metadata": metadata, "spec": {"limits": [limit]}}


def runtime_class(dice: Dice) -> Json:
    """Return a RuntimeClass whose pods cost something extra."""
    overhead = {name: spell(dice, name, STEPS[name] // 2) for name in dice.some(["cpu", "memory"])}
    return {
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": {"name": RUNTIME_CLASS},
        "handler": RUNTIME_CLASS,
        "overhead": {"podFixed": overhead},
    }
