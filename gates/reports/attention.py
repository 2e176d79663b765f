"""What needs an operator now: workers that do not take part, and Workloads that wait for something nobody will do.

Pure, and made from the documents that lists show. Each item says since when, what it is, what to do, and which alert of
the runbook it belongs to.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from config.api.meta import Obj
from gates.reports.hub_state import HubReason, HubState

CRITICAL: Final = "critical"
WARNING: Final = "warning"


def worker_attention(workers: Iterable[Mapping[str, Any]]) -> dict[str, Obj]:
    """Return what is wrong with workers, by a name that stays the same while it lasts."""
    found: dict[str, Obj] = {}
    for worker in workers:
        name = str(worker["name"])
        remedy = f"turnstile doctor --worker {name}"
        if worker["connection"] == "Connecting":
            continue
        if worker["connection"] != "Connected":
            told = f"{name} is {worker['connection'].lower()}: {worker['message']}"
            item = _item(CRITICAL, "Worker", name, told, worker["lostSince"], remedy, "TurnstileWorkerLost")
            found[f"worker/{name}"] = item
        elif (worker["gates"] or {}).get("state") == "NotHonoured":
            told = f"the Kueue of {name} does not honour preemption gates"
            found[f"gates/{name}"] = _item(WARNING, "Worker", name, told, "", remedy, "TurnstileWorkerIgnoresGates")
        elif worker["forecast"] == "unreliable":
            told = f"forecasts for {name} are right too seldom to be used"
            remedy = "turnstile status forecasts -A"
            found[f"forecasts/{name}"] = _item(
                WARNING, "Worker", name, told, "", remedy, "TurnstileForecastsUnreliable"
            )
    return found


def workload_attention(name: str, state: HubState) -> Obj | None:
    """Return what is wrong with a Workload that does not go on by itself; None if it only has to wait."""
    if not state.remedy or state.reason in (HubReason.FINISHED, HubReason.TERMINATING):
        return None
    since = str(state.document()["since"])
    told = f"{name} does not go on by itself: {state.message or _REASONS.get(state.reason, str(state.reason))}"
    return _item(WARNING, "Workload", name, told, since, state.remedy, "")


def _item(severity: str, kind: str, name: str, message: str, since: str, remedy: str, alert: str) -> Obj:
    return {
        "severity": severity,
        "kind": kind,
        "name": name,
        "message": message,
        "since": since,
        "remedy": remedy,
        "alert": alert,
    }


_REASONS: Final = {
    HubReason.CHECK_REJECTED: "its admission check was rejected",
    HubReason.DEACTIVATED: "spec.active is false",
    HubReason.QUEUE_NOT_READY: "its queue on the hub admits nothing",
    HubReason.EXCEEDS_QUOTA: "it is too large for its queue on the hub",
}
