"""The report of shadow mode as lines for people."""

from collections.abc import Iterator, Sequence
from typing import Any

from manager.cli.conventions.terminal import printable

Obj = dict[str, Any]

_HEAD = ("WORKLOAD", "LET PREEMPT", "AT", "GATE", "FORECAST", "VERIFIED", "VICTIMS", "PODS", "POD-HOURS")


def lines(report: Obj) -> Iterator[str]:
    """Yield the report line by line, all printable."""
    return map(printable, _lines(report))


def _lines(report: Obj) -> Iterator[str]:
    for problem in report.get("problems") or ():
        yield f"warning: {problem}"
    totals, episodes = report["totals"], report["episodes"]
    if not totals["starts"]:
        yield "nobody has been let preempt yet"
        return
    rows = [_row(episode, start) for episode in episodes for start in episode["starts"]]
    yield from _table([_HEAD, *rows])
    yield ""
    yield from _breaches(episodes, totals["breaches"])
    yield from _differences(episodes)
    yield from _totals(totals)


def _row(episode: Obj, start: Obj) -> Sequence[str]:
    gate = "opened" if start["gated"] else "none"
    return (
        episode["workload"],
        start["cluster"],
        start["at"],
        gate,
        start["forecast"] or "-",
        start["result"],
        *_cells(start["caused"]),
    )


def _breaches(episodes: Sequence[Obj], count: int) -> Iterator[str]:
    if not count:
        yield "one cluster per timeout: kept"
        return
    yield f"one cluster per timeout: broken {count} time(s)"
    for episode in episodes:
        for breach in episode["breaches"]:
            how = "by opening two gates" if breach["gated"] else "without gates"
            when = f"{breach['second']} {breach['secondsBetween']} s after {breach['first']}"
            yield f"  {episode['workload']}: {when}, {how}"


def _differences(episodes: Sequence[Obj]) -> Iterator[str]:
    """Name the episodes that would have gone otherwise."""
    for episode in episodes:
        for choice in episode["choices"]:
            toll = choice["toll"]
            if not episode["settled"] or toll is None or toll == episode["caused"]:
                continue
            spared = {key: episode["caused"][key] - toll[key] for key in toll}
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


def _amount(toll: Obj) -> str:
    return f"{toll['victims']} victims, {toll['pods']} pods, {toll['podSeconds'] / 3600:.1f} pod-hours"


def _cells(toll: Obj) -> Sequence[str]:
    return (str(toll["victims"]), str(toll["pods"]), f"{toll['podSeconds'] / 3600:.1f}")


def _table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
