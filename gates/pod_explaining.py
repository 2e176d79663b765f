"""One line about the pods that a Workload would bring to a worker, and one about each pod that would have to go."""

from config.api.meta import NANOSECONDS
from engine.outlook.values import PodOutlook, PodVerdict, PodVictim
from gates.forecasts import ForecastRecord


def pods_line(outlook: PodOutlook) -> str:
    """Say what the scheduler would do."""
    text = _verdict(outlook)
    return f"{text} [approximate: {'; '.join(outlook.approximate)}]" if outlook.approximate else text


def pod_victim_line(victim: PodVictim, now_ns: int) -> str:
    """Describe a pod that would be evicted."""
    group = f" (with PodGroup {victim.group})" if victim.group else ""
    running = ""
    if victim.running_since_ns is not None:
        running = f", running for {max(0, now_ns - victim.running_since_ns) // NANOSECONDS} s"
    budget = ", against its PodDisruptionBudget" if victim.violates_budget else ""
    return f"{victim.written}{group} on {victim.node}, priority {victim.priority}{running}{budget}"


def last_pods_line(record: ForecastRecord | None) -> str:
    """Say what became of the outlook behind the last opening."""
    if record is None or record.pods is None:
        return ""
    said = f"{record.cluster}: {record.pods.outlook.verdict}, {record.pods.result}"
    return f"{said} ({record.pods.message})" if record.pods.message else said


def _verdict(outlook: PodOutlook) -> str:
    match outlook.verdict:
        case PodVerdict.FITS:
            return f"Fits: {outlook.pods} pod(s) find nodes"
        case PodVerdict.EVICTS:
            return f"Evicts {outlook.cost.pods} pod(s) for {outlook.pods}"
        case PodVerdict.AMBIGUOUS:
            ways = "; or ".join(", ".join(outcome.evicted) or "nobody" for outcome in outlook.outcomes)
            return f"Ambiguous: {outlook.message}: evicts {ways}"
        case PodVerdict.CANNOT | PodVerdict.UNSUPPORTED:
            return f"{outlook.verdict}: {outlook.message}"
