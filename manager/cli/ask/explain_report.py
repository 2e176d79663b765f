"""The screen of `turnstile explain`: sentences made from the fields of the document."""

from collections.abc import Iterator
from typing import Final

from config.api.meta import NANOSECONDS, Obj, parse_time
from config.types.syntax import printable
from manager.cli.conventions.ages import age
from manager.cli.conventions.output import TableColumn, table
from manager.cli.conventions.terminal import TerminalScreen, Tone

_ONLY_THE_DAEMON: Final = "only the daemon knows"


def lines_of(body: Obj, screen: TerminalScreen, *, is_wide: bool) -> list[str]:
    """Return the screen."""
    owner = f" ({body['owner']})" if body["owner"] else ""
    lines = [screen.paint(printable(f"Workload {body['namespace']}/{body['name']}{owner}"), Tone.STRONG)]
    facts = [
        ("queue", _queue(body)),
        ("state", state_sentence(body)),
        *(("gate", _gate(gate)) for gate in body["gates"]),
        ("forecast", _last_forecast(body["lastForecast"])),
        ("pods", _last_forecast(body["lastPodForecast"])),
        ("next", next_sentence(body["next"], body["asOf"])),
    ]
    lines += [f"{name:<8}  {printable(text)}" for name, text in facts if text]
    if body["workers"]:
        lines += ["", *table(_WORKERS, body["workers"], screen, is_wide=is_wide)]
    for each in body["workers"]:
        lines += [printable(f"  {each['name']} {detail}") for detail in _details(each, body["asOf"])]
    return lines


def state_sentence(body: Obj) -> str:
    """Say where a Workload is in its life."""
    if body["problem"]:
        return f"cannot be read: {body['problem']}"
    if body["phase"] == "Finished":
        return "finished"
    if body["check"] is None:
        return "has no MultiKueue admission check"
    if body["phase"] == "Queued":
        return "waits for quota on the hub"
    where = f" on {body['cluster']}" if body["cluster"] else ""
    return f"check {body['check']['name']} is {body['check']['state']}{where}"


def next_sentence(step: Obj, now: str) -> str:
    """Say what happens next."""
    worker, other, reason = step["worker"], step["otherWorker"], step["reason"]
    match step["kind"]:
        case "GateOpens":
            return f"the gate of {worker} opens now"
        case "GateOpensAfterWindow":
            return f"the gate of {worker} opens in {_left(step, now)}, when the window of {other} ends"
        case "GateOpensAfterGrace":
            return f"the gate of {worker} opens in {_left(step, now)}, unless another worker has room"
        case "GateDeferred":
            return f"{worker} waits {_left(step, now)} at most: {reason}"
        case "GateHeld":
            return f"no gate opens while {other} has quota reserved"
        case "WindowOpen":
            return f"{worker} may preempt for another {_left(step, now)}"
        case "NoRequest":
            return "no worker asks to preempt; the first worker to admit wins"
        case _:
            return _without_gates(step)


def _without_gates(step: Obj) -> str:
    reason = step["reason"]
    match step["kind"]:
        case "FixNeeded":
            return "nothing, until the object is fixed"
        case "Nothing":
            return "nothing"
        case "Unknown":
            return f"{_ONLY_THE_DAEMON}; the check says: {reason}" if reason else _ONLY_THE_DAEMON
        case _:
            return reason or f"{', '.join(step['actions']) or 'nothing to do'} (rule {step['rule']})"


def replica_sentence(replica: Obj) -> str:
    """Say what a worker says about its replica."""
    match replica["state"]:
        case "Problem":
            return str(replica["message"])
        case "Pending":
            return replica["message"] or "pending"
        case "AsksToPreempt":
            return f"asks to preempt since {replica['since']}"
        case state:
            return _REPLICA_STATES.get(state, str(state))


def forecast_sentence(forecast: Obj | None) -> str:
    """Say what a worker would do, but not why it would not."""
    if forecast is None:
        return "-"
    return f"{_would(forecast)}{'' if forecast['reliable'] else ' [unreliable]'}"


def pods_sentence(outlook: Obj) -> str:
    """Say what kube-scheduler would do with the pods."""
    rough = outlook["approximate"]
    return f"{_pods_would(outlook)} [approximate: {'; '.join(rough)}]" if rough else _pods_would(outlook)


def victim_sentence(victim: Obj, now: str) -> str:
    """Describe a workload that would be preempted."""
    owner = f" ({victim['owner']})" if victim["owner"] else ""
    cost = f", preemption cost {victim['preemptionCost']}" if victim["preemptionCost"] else ""
    leaving = ", leaving already" if victim["leavingAlready"] else ""
    about = f"priority {victim['priority']}{cost}{_running(victim, now)}"
    return f"{victim['workload']}{owner}, {about}, {victim['reason']}{leaving}"


def pod_victim_sentence(victim: Obj, now: str) -> str:
    """Describe a pod that would be evicted."""
    group = f" (with PodGroup {victim['podGroup']})" if victim["podGroup"] else ""
    budget = ", against its PodDisruptionBudget" if victim["violatesBudget"] else ""
    return f"{victim['pod']}{group} on {victim['node']}, priority {victim['priority']}{_running(victim, now)}{budget}"


def _queue(body: Obj) -> str:
    if not body["queue"]:
        return ""
    where = f", ClusterQueue {body['clusterQueue']}" if body["clusterQueue"] else ""
    waits = f", for {age(body['created'], body['asOf'])}" if body["created"] else ""
    return f"LocalQueue {body['queue']}{where}{waits}"


def _gate(gate: Obj) -> str:
    ends = f", its window ends at {gate['windowEnds']}" if gate["windowEnds"] else ""
    return f"open on {gate['worker']} since {gate['opened']}{ends}"


def _last_forecast(found: Obj | None) -> str:
    if found is None:
        return ""
    message = f" ({found['resultMessage']})" if found["resultMessage"] else ""
    return f"{found['worker']}: {found['verdict']}, {found['result']}{message}"


def _details(worker: Obj, now: str) -> Iterator[str]:
    """Yield why a worker would not take it, unless that is what it says itself, and what it would preempt."""
    forecast, pods = worker["forecast"], worker["pods"]
    if forecast is not None:
        if _is_refusal(forecast) and forecast["message"] not in ("", replica_sentence(worker["replica"])):
            yield f"{forecast['verdict'].lower()}: {forecast['message']}"
        yield from (f"would preempt {victim_sentence(victim, now)}" for victim in forecast["victims"])
    if pods is not None:
        yield f"pods: {pods_sentence(pods)}"
        yield from (f"would evict pod {pod_victim_sentence(victim, now)}" for victim in pods["victims"])


def _would(forecast: Obj) -> str:
    if _is_refusal(forecast):
        return str(forecast["verdict"])
    if forecast["verdict"] == "Fits":
        return f"Fits in {_flavors(forecast)}"
    cost = forecast["cost"]
    price = f", preemption cost {cost['preemptionCost']}" if cost["preemptionCost"] else ""
    return f"Preempts {cost['victims']} workload(s), {cost['pods']} pod(s){price}, for {_flavors(forecast)}"


def _is_refusal(forecast: Obj) -> bool:
    return forecast["verdict"] not in ("Fits", "Preempts")


def _pods_would(outlook: Obj) -> str:
    match outlook["verdict"]:
        case "Fits":
            return f"Fits: {outlook['pods']} pod(s) find nodes"
        case "Evicts":
            return f"Evicts {outlook['cost']['pods']} pod(s) for {outlook['pods']}"
        case "Ambiguous":
            ways = "; or ".join(", ".join(each["evicted"]) or "none" for each in outlook["outcomes"])
            return f"Ambiguous: {outlook['message']}: evicts {ways}"
        case verdict:
            return f"{verdict}: {outlook['message']}"


def _flavors(forecast: Obj) -> str:
    borrowed = f", borrowing at level {forecast['borrowing']}" if forecast["borrowing"] else ""
    others = " or ".join(map(_named, forecast["otherFlavors"]))
    instead = f" (or {others}, depending on which victim leaves first)" if others else ""
    return f"{_named(forecast['flavors'])}{instead}{borrowed}"


def _named(flavors: Obj) -> str:
    return ", ".join(f"{resource}={name}" for resource, names in flavors.items() for name in names)


def _running(victim: Obj, now: str) -> str:
    since = victim["runningSince"]
    return f", running for {max(0, _seconds_between(since, now))} s" if since else ""


def _left(step: Obj, now: str) -> str:
    return f"{max(0, _seconds_between(now, step['at']))} s"


def _seconds_between(earlier: str, later: str) -> int:
    return (parse_time(later) - parse_time(earlier)) // NANOSECONDS


_REPLICA_STATES: Final = {
    "Unreachable": "not reachable",
    "NotSynced": "not synced yet",
    "Missing": "no replica",
    "Foreign": "a Workload with that name exists that this hub did not create",
    "Finished": "finished",
    "Evicted": "evicted",
    "Admitted": "admitted",
    "QuotaReserved": "has quota, waiting for its own checks",
    "Nominated": "nominated",
    "Chosen": "runs it",
    "Unknown": _ONLY_THE_DAEMON,
}
_WORKERS: Final = (
    TableColumn("WORKER", lambda each: each["name"]),
    TableColumn(
        "GATE",
        lambda each: each["gate"].lower() or "-",
        tone=lambda each: Tone.STRONG if each["gate"] == "Open" else None,
    ),
    TableColumn("WOULD", lambda each: forecast_sentence(each["forecast"])),
    TableColumn("SAYS", lambda each: replica_sentence(each["replica"])),
)
