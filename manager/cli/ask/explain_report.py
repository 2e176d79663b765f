"""The screen of `turnstile explain`: sentences made from the fields of the document."""

from collections.abc import Iterator
from typing import Final

from config.api.meta import Obj
from config.types.syntax import printable
from manager.cli.ask.next_sentences import ONLY_THE_DAEMON, next_sentence, state_message, state_sentence
from manager.cli.ask.topology_sentences import fragmentation_sentences, place_sentences, victim_places
from manager.cli.conventions.ages import age
from manager.cli.conventions.output import TableColumn, table
from manager.cli.conventions.terminal import TerminalScreen, Tone
from manager.cli.display.fitting import Priority


def lines_of(body: Obj, screen: TerminalScreen, *, is_wide: bool) -> list[str]:
    """Return the screen."""
    owner = f" ({body['owner']})" if body["owner"] else ""
    lines = [screen.paint(printable(f"Workload {body['namespace']}/{body['name']}{owner}"), Tone.STRONG)]
    facts = [
        ("queue", _queue(body)),
        ("state", state_sentence(body)),
        ("reason", state_message(body)),
        *(("gate", _gate(gate)) for gate in body["gates"]),
        ("forecast", _last_forecast(body["lastForecast"])),
        ("pods", _last_forecast(body["lastPodForecast"])),
        ("next", next_sentence(body)),
        ("gives up", f"at {body['givesUpAt']}, unless a worker admits it" if body.get("givesUpAt") else ""),
    ]
    lines += [f"{name:<8}  {printable(text)}" for name, text in facts if text]
    workers = _concerned(body)
    if workers:
        lines += ["", *table(_WORKERS, workers, screen, is_wide=is_wide)]
    for each in workers:
        lines += [printable(f"  {each['name']} {detail}") for detail in _details(each, body["asOf"])]
    return lines


def _concerned(body: Obj) -> list[Obj]:
    """Return the workers to list: all once the hub is done, else those with a forecast or a replica."""
    workers = list(body["workers"])
    if body["state"] is not None and body["state"]["reason"] in ("OnWorkers", "CheckReady"):
        return workers
    return [each for each in workers if each["forecast"] or each["replica"]["state"] not in _WITHOUT_REPLICA]


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


def says_sentence(worker: Obj) -> str:
    """Say what a worker says about its replica, or which rule keeps the Workload from it."""
    if worker.get("ruledOut") and worker["replica"]["state"] in _WITHOUT_REPLICA:
        return f"ruled out: {worker['ruledOut']['message']}"
    return replica_sentence(worker["replica"])


def worker_sentence(worker: Obj) -> str:
    """Say what a worker does with its open gate, else what it would do."""
    if worker["preemption"] is not None and worker["preemption"]["victims"]:
        victims = worker["preemption"]["victims"]
        did = "Preempted" if all(each["preempted"] for each in victims) else "Preempts"
        return f"{did} {len(victims)} workload(s), {sum(each['pods'] for each in victims)} pod(s)"
    return forecast_sentence(worker["forecast"])


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


def preempted_sentence(victim: Obj, now: str) -> str:
    """Describe a workload that is preempted behind an open gate."""
    if not victim["forecast"]:
        return f"preempted {victim['workload']}, {victim['reason']}, which was not forecast"
    if victim["preempted"]:
        return f"preempted {victim_sentence({**victim, 'runningSince': ''}, now)}"
    did = "is to preempt" if victim["preempted"] is False else "was forecast to preempt"
    return f"{did} {victim_sentence(victim, now)}"


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
    forecast, pods, preemption = worker["forecast"], worker["pods"], worker["preemption"]
    if preemption is not None and preemption["victims"]:
        yield from (preempted_sentence(victim, now) for victim in preemption["victims"])
    elif forecast is not None:
        if _is_refusal(forecast) and forecast["message"] not in ("", replica_sentence(worker["replica"])):
            yield f"{forecast['verdict'].lower()}: {forecast['message']}"
        yield from fragmentation_sentences(forecast)
        yield from (
            f"would preempt {victim_sentence(victim, now)}{victim_places(victim)}" for victim in forecast["victims"]
        )
        yield from place_sentences(forecast)
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
    return f", running for {age(victim['runningSince'], now)}" if victim["runningSince"] else ""


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
    "Unknown": ONLY_THE_DAEMON,
}
_WITHOUT_REPLICA: Final = frozenset({"Missing", "Foreign", "Unknown", "Unreachable", "NotSynced"})
_WORKERS: Final = (
    TableColumn("WORKER", lambda each: each["name"], priority=Priority.ESSENTIAL),
    TableColumn(
        "GATE",
        lambda each: each["gate"].lower() or "-",
        tone=lambda each: Tone.STRONG if each["gate"] == "Open" else None,
    ),
    TableColumn("WOULD", worker_sentence, priority=Priority.ESSENTIAL),
    TableColumn("SAYS", says_sentence, priority=Priority.ESSENTIAL),
)
