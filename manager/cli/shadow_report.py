"""The report of shadow mode as lines for people."""

from collections.abc import Iterator, Sequence
from typing import Final

from config.api.meta import Obj
from config.types.syntax import printable
from manager.cli.conventions.ages import span
from manager.cli.conventions.output import TableColumn, table
from manager.cli.conventions.terminal import TerminalScreen
from manager.cli.display.fitting import Priority


def lines_of(report: Obj, screen: TerminalScreen, *, is_wide: bool) -> list[str]:
    """Return the screen."""
    lines = [f"{_severity(problem)}: {_problem(problem)}" for problem in report["problems"]]
    totals, episodes = report["totals"], report["episodes"]
    if not totals["starts"]:
        return [*map(printable, lines), _NOTHING[report["observes"]]]
    starts = [{**start, "workload": episode["workload"]} for episode in episodes for start in episode["starts"]]
    closing = [*_breaches(episodes, totals["breaches"]), *_differences(episodes), *_totals(totals)]
    return [*map(printable, lines), *table(_STARTS, starts, screen, is_wide=is_wide), "", *map(printable, closing)]


def _severity(problem: Obj) -> str:
    return "error" if problem["kind"] == "Lease" else "warning"


def _problem(problem: Obj) -> str:
    match problem["kind"]:
        case "Lease":
            text = f"this shadow observes nothing: {problem['message']}"
        case "Hub":
            text = f"hub: {problem['message']}"
        case "Forecasts":
            text = f"worker {problem['cluster']}: no forecasts, and victims are not detected: {problem['message']}"
        case _:
            text = f"worker {problem['cluster']}: {problem['message']}"
    return f"{text} ({problem['remedy']})" if problem["remedy"] else text


def _breaches(episodes: Sequence[Obj], count: int) -> Iterator[str]:
    if not count:
        yield "one cluster per timeout: kept"
        return
    yield f"one cluster per timeout: broken {count} time(s)"
    for episode in episodes:
        for breach in episode["breaches"]:
            how = "by opening two gates" if breach["gated"] else "without gates"
            when = f"{breach['second']} {span(breach['secondsBetween'])} after {breach['first']}"
            yield f"  {episode['workload']}: {when}, {how}"


def _differences(episodes: Sequence[Obj]) -> Iterator[str]:
    """Name the episodes that would have gone otherwise."""
    for episode in episodes:
        for choice in episode["choices"]:
            cost = choice["cost"]
            if not episode["settled"] or cost is None or cost == episode["caused"]:
                continue
            spared = {key: episode["caused"][key] - cost[key] for key in cost}
            yield f"{episode['workload']}: {choice['policy']} would have chosen {choice['cluster']}: {_words(spared)}"


def _totals(totals: Obj) -> Iterator[str]:
    results = ", ".join(f"{count} {result}" for result, count in totals["forecasts"].items())
    yield f"forecasts: {results}"
    yield f"caused: {_amount(totals['caused'])}"
    for each in totals["policies"]:
        of = f"{each['compared']} of {totals['episodes']} compared"
        yield f"spared by {each['policy']}: {_amount(each['spared'])} ({of})"


def _words(spared: Obj) -> str:
    less = [f"{value:+d} {name}" for name, value in (("victims", -spared["victims"]), ("pods", -spared["pods"]))]
    return f"{', '.join(less)}, {-spared['podSeconds'] / 3600:+.1f} pod-hours"


def _amount(cost: Obj) -> str:
    return f"{cost['victims']} victims, {cost['pods']} pods, {_pod_hours(cost)} pod-hours"


def _pod_hours(cost: Obj) -> str:
    return f"{cost['podSeconds'] / 3600:.1f}"


_NOTHING: Final = {
    True: "no worker has been allowed to preempt yet",
    False: "nothing was observed",
    None: "no attempt is recorded: no worker was allowed to preempt, or the shadow that writes this journal "
    "observes nothing; without --journal the running shadow is asked",
}
_STARTS: Final = (
    TableColumn("WORKLOAD", lambda each: each["workload"], priority=Priority.ESSENTIAL),
    TableColumn("LET PREEMPT", lambda each: each["cluster"], priority=Priority.ESSENTIAL),
    TableColumn("AT", lambda each: each["at"]),
    TableColumn("GATE", lambda each: "opened" if each["gated"] else "none"),
    TableColumn("FORECAST", lambda each: each["forecast"] or "-"),
    TableColumn("VERIFIED", lambda each: each["result"]),
    TableColumn("VICTIMS", lambda each: each["caused"]["victims"], priority=Priority.ESSENTIAL),
    TableColumn("PODS", lambda each: each["caused"]["pods"]),
    TableColumn("POD-HOURS", lambda each: _pod_hours(each["caused"]), priority=Priority.EXTRA),
)
