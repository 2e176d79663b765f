"""One screen about one Workload: what it waits for, what each worker says and would do, and what happens next.

Pure, and made from the same view and the same decision that the daemon acts on, so it cannot tell another story.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from config.api.meta import NANOSECONDS, format_time
from engine.forecasting.forecast import Flavors, Forecast, ForecastVictim, Verdict
from gates.actions import Decision
from gates.ledger import known_openings, last_opening
from gates.opening import Defer, Grace, Hold, Open, Wait, next_gate, remaining_window
from gates.pod_explaining import last_pods_line, pod_victim_line, pods_line
from gates.records import HubRecord
from gates.settings import Settings
from gates.view import CheckState, Group, Reach, Worker


@dataclass(frozen=True, slots=True)
class WorkerExplanation:
    """What one worker says, and what it would do."""

    name: str
    says: str
    gate: str
    forecast: str
    victims: tuple[str, ...] = ()
    pods: str = ""
    """What would become of its pods there; empty where that is not forecast."""
    pod_victims: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Explanation:
    """What there is to know about a Workload."""

    workload: str
    state: str
    workers: tuple[WorkerExplanation, ...]
    next: str
    gates: tuple[str, ...] = ()
    """Whose gate is open, since when and until when."""
    last_forecast: str = ""
    """What became of the forecast behind the last opening."""
    last_pods: str = ""
    """The same about its pods."""


def explain(
    group: Group, decision: Decision, forecasts: Mapping[str, Forecast], now_ns: int, settings: Settings
) -> Explanation:
    """Explain a Workload; `forecasts` are those of every worker that has one."""
    workload, record = group.workload, group.workload.forecast
    last = ""
    if record is not None:
        said = f"{record.cluster}: {record.forecast.verdict}, {record.result}"
        last = f"{said} ({record.message})" if record.message else said
    return Explanation(
        workload=f"{workload.namespace}/{workload.name}",
        state=_state(group),
        workers=tuple(_worker(worker, forecasts.get(worker.name), now_ns) for worker in group.listed),
        next=_next(group, decision, now_ns, settings),
        gates=_gates(group, settings) if _is_pending(group) else (),
        last_forecast=last,
        last_pods=last_pods_line(record),
    )


def explanation_document(record: HubRecord, explanation: Explanation) -> dict[str, Any]:
    """Return an explanation as a document, with what the hub's object says about its place there."""
    return {
        "namespace": record.namespace,
        "name": record.name,
        "owner": f"{record.owner.kind} {record.owner.name}" if record.owner is not None else "",
        "queue": record.queue,
        "clusterQueue": record.cluster_queue,
        "created": format_time(record.created_ns) if record.created_ns else "",
        "state": explanation.state,
        "cluster": record.cluster_name,
        "nominated": list(record.nominated),
        "gates": list(explanation.gates),
        "workers": [asdict(worker) for worker in explanation.workers],
        "lastForecast": explanation.last_forecast,
        "lastPodForecast": explanation.last_pods,
        "next": explanation.next,
    }


def _is_pending(group: Group) -> bool:
    check = group.workload.check
    return check is not None and check.state is CheckState.PENDING


def _gates(group: Group, settings: Settings) -> tuple[str, ...]:
    return tuple(
        f"{opening.cluster} since {format_time(opening.opened_ns)}, "
        f"its turn ends at {format_time(opening.opened_ns + settings.timeout_ns)}"
        for opening in known_openings(group)
    )


def _state(group: Group) -> str:
    workload = group.workload
    if workload.is_true("Finished"):
        return "finished"
    if workload.check is None:
        return "has no admission check of ours"
    if not workload.is_true("QuotaReserved"):
        return "waits for quota on the hub"
    where = f" on {workload.cluster_name}" if workload.cluster_name else ""
    return f"check {workload.check.name} is {workload.check.state}{where}"


def _worker(worker: Worker, forecast: Forecast | None, now_ns: int) -> WorkerExplanation:
    replica = worker.replica
    gate = "-" if replica is None or not replica.has_gate else "open" if replica.gate_open else "closed"
    text = "-"
    victims: tuple[str, ...] = ()
    if forecast is not None:
        text = _forecast(forecast) if worker.forecast_reliable else f"{_forecast(forecast)} [unreliable]"
        victims = tuple(_victim(victim, now_ns) for victim in forecast.victims)
    outlook = worker.pods
    pods = pods_line(outlook) if outlook is not None else ""
    evicted = tuple(pod_victim_line(victim, now_ns) for victim in outlook.victims) if outlook is not None else ()
    return WorkerExplanation(worker.name, _says(worker), gate, text, victims, pods, evicted)


def _says(worker: Worker) -> str:
    if worker.reach is Reach.LOST:
        return "not reachable"
    if worker.reach is Reach.UNREADABLE:
        return "not all of it is known yet"
    if worker.problem:
        return worker.problem
    replica = worker.replica
    if replica is None:
        return "a foreign Workload of that name is there" if worker.foreign_replica else "no copy"
    for condition, text in (("Finished", "finished"), ("Evicted", "evicted"), ("Admitted", "admitted")):
        if replica.is_true(condition):
            return text
    if replica.is_true("QuotaReserved"):
        return "has quota, waits for its own checks"
    if replica.signal_ns is not None:
        return f"asks to preempt since {format_time(replica.signal_ns - worker.clock_skew_ns)}"
    reserved = replica.conditions.get("QuotaReserved")
    return reserved.message if reserved is not None and reserved.message else "pending"


def _forecast(forecast: Forecast) -> str:
    match forecast.verdict:
        case Verdict.FITS:
            return f"Fits in {_flavors(forecast)}"
        case Verdict.PREEMPTS:
            cost = forecast.cost
            price = f", preemption cost {cost.preemption_cost}" if cost.preemption_cost else ""
            return f"Preempts {cost.victims} workload(s), {cost.pods} pod(s){price}, for {_flavors(forecast)}"
        case Verdict.CANNOT | Verdict.UNSUPPORTED | Verdict.AMBIGUOUS:
            return f"{forecast.verdict}: {forecast.message}" if forecast.message else str(forecast.verdict)


def _flavors(forecast: Forecast) -> str:
    borrowed = f", borrowing at level {forecast.borrowing}" if forecast.borrowing else ""
    others = " or ".join(_named(each) for each in forecast.other_flavors)
    instead = f" (or {others}, by who leaves first)" if others else ""
    return f"{_named(forecast.flavors)}{instead}{borrowed}"


def _named(flavors: Flavors) -> str:
    return ", ".join(f"{resource}={flavor}" for resource, flavor in flavors)


def _victim(victim: ForecastVictim, now_ns: int) -> str:
    owner = f" ({victim.owner})" if victim.owner else ""
    running = ""
    if victim.running_since_ns is not None:
        running = f", running for {max(0, now_ns - victim.running_since_ns) // NANOSECONDS} s"
    cost = f", preemption cost {victim.preemption_cost}" if victim.preemption_cost else ""
    leaving = ", leaving already" if victim.in_flight else ""
    about = f"priority {victim.priority}{cost}{running}"
    return f"{victim.namespace}/{victim.name}{owner}, {about}, {victim.reason}{leaving}"


def _next(group: Group, decision: Decision, now_ns: int, settings: Settings) -> str:
    gate = next_gate(group, now_ns, settings) if group.workload.check is not None else None
    if decision.rule.startswith("G7") or decision.rule.startswith("G9"):
        match gate:
            case Open(worker=worker):
                return f"the gate of {worker.name} opens now"
            case Wait(worker=worker, holder=holder, remaining_ns=remaining):
                wait = _seconds(remaining)
                return f"the gate of {worker.name} opens in {wait}, when the window of {holder.cluster} ends"
            case Defer(worker=worker, remaining_ns=remaining, why=why):
                return f"{worker.name} waits {_seconds(remaining)} at most: {why}"
            case Grace(worker=worker, until_ns=until):
                wait = _seconds(max(0, until - now_ns))
                return f"the gate of {worker.name} opens in {wait}, unless another worker has room"
            case Hold(reserved_on=reserved_on):
                return f"no gate opens while {reserved_on} has quota reserved"
            case _:
                pass
        last = last_opening(group)
        if last is not None and (remaining := remaining_window(last, now_ns, settings)):
            return f"{last.cluster} may preempt for another {_seconds(remaining)}"
        return "nobody asks to preempt; the first worker to admit wins"
    if decision.notes:
        return "; ".join(decision.notes)
    return f"{_actions(decision)} (rule {decision.rule})"


def _actions(decision: Decision) -> str:
    names = [type(action).__name__ for action in decision.actions]
    return ", ".join(names) if names else "nothing to do"


def _seconds(ns: int) -> str:
    return f"{-(-ns // NANOSECONDS)} s"
