"""The screen of `turnstile plan`."""

from collections.abc import Iterator, Sequence
from typing import Final

from config.api.meta import Obj
from config.types.syntax import printable
from manager.cli.ask.listings import flavors_cell
from manager.cli.ask.topology_sentences import fragmentation_sentences, place_sentences, victim_places
from manager.cli.conventions.ages import span
from manager.cli.conventions.output import TableColumn, table
from manager.cli.conventions.terminal import TerminalScreen, Tone
from manager.cli.display.fitting import Priority

_TONES: Final = {
    "Fits": Tone.GOOD,
    "FitsWithBorrowing": Tone.GOOD,
    "Preempts": Tone.DOUBTFUL,
    "Cannot": Tone.BAD,
    "Unreachable": Tone.BAD,
    "RuledOut": Tone.BAD,
}


def lines_of(plans: Sequence[Obj], screen: TerminalScreen, *, is_wide: bool) -> list[str]:
    """Return the screen of one plan after the other."""
    lines: list[str] = []
    for number, plan in enumerate(plans):
        lines += [""] * bool(number) + _plan(plan, screen, is_wide=is_wide)
    return lines


def names_of(plans: Sequence[Obj]) -> list[str]:
    """Return the workers that would get the jobs; nothing for a job that no worker takes."""
    chosen = (plan["chosen"]["worker"] for plan in plans)
    return [f"multikueuecluster.kueue.x-k8s.io/{name}" for name in chosen if name]


def _plan(plan: Obj, screen: TerminalScreen, *, is_wide: bool) -> list[str]:
    job = plan["job"]
    pods = ", ".join(f"{each['count']} of {each['name']}" for each in job["podSets"])
    head = f"{job['kind']} {job['namespace']}/{job['name']}: LocalQueue {job['queue']}, priority {job['priority']}"
    lines = [screen.paint(printable(f"{head}, pods: {pods}"), Tone.STRONG)]
    lines += table(_WORKERS, plan["workers"], screen, is_wide=is_wide)
    victims = [{**victim, "worker": worker["name"]} for worker in plan["workers"] for victim in worker["victims"]]
    if victims:
        lines += ["", *table(_VICTIMS, victims, screen, is_wide=is_wide)]
    with_pods = [{**worker["pods"], "worker": worker["name"]} for worker in plan["workers"] if worker.get("pods")]
    if with_pods:
        lines += ["", *table(_PODS, with_pods, screen, is_wide=is_wide)]
    evicted = [{**victim, "worker": each["worker"]} for each in with_pods for victim in each["victims"]]
    if evicted:
        lines += ["", *table(_POD_VICTIMS, evicted, screen, is_wide=is_wide)]
    missing = [{**each, "worker": worker["name"]} for worker in plan["workers"] for each in worker["missing"]]
    if missing:
        lines += ["", *table(_MISSING, missing, screen, is_wide=is_wide)]
    return [*lines, "", *_ending(plan, is_wide=is_wide)]


def _ending(plan: Obj, *, is_wide: bool) -> list[str]:
    chosen = plan["chosen"]
    others = f" (or {', '.join(chosen['others'])})" if chosen["others"] else ""
    lines = [f"goes to: {chosen['worker'] or 'none'}{others}: {chosen['why']}"]
    if plan["largest"]["withoutPreemption"] is not None:
        lines.append(f"largest: {_largest(plan['largest'])}")
    for worker in plan["workers"]:
        told = (*fragmentation_sentences(worker), *_freed(worker), *place_sentences(worker), *worker["notes"])
        lines += [f"{worker['name']}: {each}" for each in told]
    if is_wide:
        lines += [f"note: {remark}" for remark in plan["remarks"]]
    else:
        lines += [f"note: {remark}" for remark in plan["remarks"][:-1]]  # the last one is always the same
    return [printable(line) for line in lines]


def _freed(worker: Obj) -> Iterator[str]:
    """Yield what the victims leave, where the job gets a block by their going."""
    for victim in worker["victims"]:
        if victim.get("places"):
            yield f"victim {victim['workload']}{victim_places(victim)}"


def _largest(largest: Obj) -> str:
    def told(found: Obj) -> str:
        size, most = found["size"], largest["atMost"]
        if not size:
            return "none"
        return f"{'at least ' if size == most else ''}{size} on {found['worker']}"

    without, preempting = told(largest["withoutPreemption"]), told(largest["withPreemption"])
    return f"pod set {largest['podSet']}: {without} without preemption, {preempting} with preemption"


def _size(worker: Obj, field: str) -> str:
    return "-" if worker["largest"] is None else str(worker["largest"][field])


def _message(worker: Obj) -> str:
    doubt = "" if worker["reliable"] else "forecasts for it were unreliable lately; "
    return f"{doubt}{worker['message']}".strip("; ") or "-"


def _running(victim: Obj) -> str:
    seconds = victim["runningSeconds"]
    return "-" if seconds is None else span(seconds)


def _cost(victim: Obj) -> str:
    decided = victim["costInDecision"]
    if decided is None and victim["preemptionCost"]:
        return f"{victim['preemptionCost']} (not counted)"
    return str(victim["preemptionCost"])


_WORKERS: Final = (
    TableColumn("WORKER", lambda each: each["name"], priority=Priority.ESSENTIAL),
    TableColumn(
        "WOULD",
        lambda each: each["verdict"],
        tone=lambda each: _TONES.get(each["verdict"], Tone.DOUBTFUL),
        priority=Priority.ESSENTIAL,
    ),
    TableColumn("FLAVORS", lambda each: flavors_cell(each.get("flavors") or {}), priority=Priority.EXTRA),
    TableColumn("BORROWS", lambda each: "-" if each.get("borrowing") is None else each["borrowing"], is_wide=True),
    TableColumn("VICTIMS", lambda each: len(each["victims"])),
    TableColumn("PODS LOST", lambda each: (each.get("cost") or {}).get("pods", "-"), is_wide=True),
    TableColumn("CPU-S LOST", lambda each: (each.get("cost") or {}).get("cpuSeconds", "-"), is_wide=True),
    TableColumn(
        "ACCELERATOR-S LOST", lambda each: (each.get("cost") or {}).get("acceleratorSeconds", "-"), is_wide=True
    ),
    TableColumn("LARGEST", lambda each: _size(each, "withoutPreemption")),
    TableColumn("PREEMPTING", lambda each: _size(each, "withPreemption")),
    TableColumn("MESSAGE", _message, priority=Priority.ESSENTIAL),
)
_VICTIMS: Final = (
    TableColumn("ON", lambda each: each["worker"], priority=Priority.ESSENTIAL),
    TableColumn("VICTIM", lambda each: each["workload"], priority=Priority.ESSENTIAL),
    TableColumn("OWNER", lambda each: each["owner"] or "-", priority=Priority.EXTRA),
    TableColumn("CLUSTERQUEUE", lambda each: each["clusterQueue"], is_wide=True),
    TableColumn("PRIORITY", lambda each: each["priority"]),
    TableColumn("PODS", lambda each: each["pods"], is_wide=True, priority=Priority.ESSENTIAL),
    TableColumn("RUNNING", _running),
    TableColumn("COST", _cost, priority=Priority.EXTRA),
    TableColumn("REASON", lambda each: f"{each['reason']}{', leaving already' if each['leavingAlready'] else ''}"),
)
_PODS: Final = (
    TableColumn("ON", lambda each: each["worker"], priority=Priority.ESSENTIAL),
    TableColumn("PODS", lambda each: each["pods"], priority=Priority.ESSENTIAL),
    TableColumn(
        "WOULD",
        lambda each: each["verdict"],
        tone=lambda each: _TONES.get(each["verdict"], Tone.DOUBTFUL),
        priority=Priority.ESSENTIAL,
    ),
    TableColumn("EVICTED", lambda each: len(each["victims"])),
    TableColumn(
        "OUTCOMES", lambda each: f"{len(each['outcomes'])}{'' if each['complete'] else ' or more'}", is_wide=True
    ),
    TableColumn("RULES", lambda each: each["mode"] or "-", is_wide=True),
    TableColumn("MESSAGE", lambda each: each["message"] or "-", priority=Priority.ESSENTIAL),
)
_POD_VICTIMS: Final = (
    TableColumn("ON", lambda each: each["worker"], priority=Priority.ESSENTIAL),
    TableColumn("EVICTED POD", lambda each: each["pod"], priority=Priority.ESSENTIAL),
    TableColumn("NODE", lambda each: each["node"]),
    TableColumn("PRIORITY", lambda each: each["priority"]),
    TableColumn("PODGROUP", lambda each: each["podGroup"] or "-", is_wide=True),
    TableColumn("BUDGET", lambda each: "overdrawn" if each["violatesBudget"] else "-", is_wide=True),
    TableColumn("RUNNING", _running),
)
_MISSING: Final = (
    TableColumn("ON", lambda each: each["worker"], priority=Priority.ESSENTIAL),
    TableColumn("POD SET", lambda each: each["podSet"]),
    TableColumn("RESOURCE", lambda each: each["resource"], priority=Priority.ESSENTIAL),
    TableColumn("FLAVOR", lambda each: each["flavor"]),
    TableColumn("MISSING NOW", lambda each: each["missing"], priority=Priority.ESSENTIAL),
    TableColumn("OVER CAPACITY", lambda each: each["overCapacity"] or "-"),
)
