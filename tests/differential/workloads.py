"""What running and pending workloads of a generated cluster have in common."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from tests.differential.catalogue import Json, Queue, kueue_object
from tests.differential.dice import Dice
from tests.differential.pods import pod_set

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


def workload(dice: Dice, queue: Queue, name: str, sizings: list[Sizing], created: datetime) -> Json:
    """Return a workload without status."""
    spec: Json = {
        "queueName": f"lq-{queue.name}",
        "active": True,
        "podSets": [pod_set(dice, sizing.name, sizing.count, sizing.per_pod) for sizing in sizings],
    }
    if dice.chance(0.95):
        spec["priority"] = dice.weighted({0: 4, 1: 1, 50: 2, 99: 1, 100: 4, 200: 1, -10: 0.5, 2**31 - 1: 0.1})
    result = kueue_object("Workload", name, spec, dice.choice(queue.namespaces))
    result["metadata"]["uid"] = f"{dice.getrandbits(32):08x}-{dice.getrandbits(16):04x}"
    result["metadata"]["creationTimestamp"] = rfc3339(created)
    if dice.chance(0.2):
        result["metadata"]["annotations"] = {"kueue.x-k8s.io/priority-boost": dice.choice(_BOOSTS)}
    return result


def creation(dice: Dice) -> datetime:
    """Return one of a few moments, so that ties and five-minute gaps are common, or any second of the last two days."""
    if dice.chance(0.6):
        return NOW - timedelta(minutes=5 * dice.randint(2, 8), seconds=dice.choice([0, 0, 0, 1]))
    return NOW - timedelta(seconds=dice.randint(60, 172_800))
