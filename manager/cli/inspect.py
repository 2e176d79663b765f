"""`turnstile status` and `turnstile explain`: what the running daemon knows."""

from enum import StrEnum
from typing import Annotated

import typer

from manager.cli.conventions.daemon import daemon_of
from manager.cli.conventions.optiongroups import with_option_groups
from manager.cli.conventions.options import Connection, NamespaceOption, Presentation
from manager.cli.conventions.output import Column, Listing, Obj, Report, show, table
from manager.cli.conventions.subjects import subject_of
from manager.cli.conventions.terminal import Screen, printable


class Subject(StrEnum):
    """What there is to list."""

    WORKERS = "workers"
    WORKLOADS = "workloads"


_WORKERS = (
    Column("WORKER", lambda each: each["name"]),
    Column("CONNECTION", lambda each: each["connection"]),
    Column("COPIES", lambda each: each["copies"]),
    Column("FORECASTS", lambda each: each["forecast"]),
    Column("EXACT", lambda each: "-" if each["hitRate"] is None else f"{each['hitRate']}%"),
)
_WORKLOADS = (
    Column("WORKLOAD", lambda each: each["workload"]),
    Column("CHECK", lambda each: each["check"]),
    Column("CLUSTER", lambda each: each["cluster"] or "-"),
    Column("FORECAST", lambda each: each["forecast"] or "-"),
    Column("MESSAGE", lambda each: each["message"]),
)


@with_option_groups
def status(
    subject: Annotated[Subject, typer.Argument(help="What to list.")] = Subject.WORKERS,
    *,
    connection: Connection,
    presentation: Presentation,
) -> None:
    """List workers and how their forecasts do, or Workloads and where they stand. Exits with 3 if no daemon answers."""
    found = daemon_of(connection).ask(subject.value)[subject.value]
    if subject is Subject.WORKERS:
        listing = Listing(
            "WorkerList",
            found,
            _WORKERS,
            lambda each: f"multikueuecluster.kueue.x-k8s.io/{each['name']}",
            "there are no workers",
        )
    else:
        listing = Listing(
            "WorkloadList",
            found,
            _WORKLOADS,
            lambda each: f"workload.kueue.x-k8s.io/{each['workload'].partition('/')[2]}",
            "there are no workloads",
        )
    show(listing, presentation.output)


@with_option_groups
def explain(
    workload: Annotated[str, typer.Argument(help="The Workload: NAMESPACE/NAME, or NAME with -n.")],
    *,
    chosen: NamespaceOption,
    connection: Connection,
    presentation: Presentation,
) -> None:
    """Say what a Workload waits for, what each worker says and would do, and what happens next."""
    subject = subject_of(workload, chosen, connection)
    found = daemon_of(connection).ask("workloads", subject.namespace, subject.name, "explanation")
    name = f"workload.kueue.x-k8s.io/{subject.name}"
    report = Report("Explanation", found, lambda screen, wide: _lines(found, screen, is_wide=wide), [name])
    show(report, presentation.output)


_SAYINGS = (
    Column("WORKER", lambda each: each["name"]),
    Column("GATE", lambda each: each["gate"]),
    Column("SAYS", lambda each: each["says"]),
    Column("WOULD", lambda each: each["forecast"]),
)


def _lines(found: Obj, screen: Screen, *, is_wide: bool) -> list[str]:
    lines = [printable(f"{found['workload']}: {found['state']}")]
    if found["workers"]:
        lines += table(_SAYINGS, found["workers"], screen, is_wide=is_wide)
    for each in found["workers"]:
        lines += [printable(f"  {each['name']} would preempt {victim}") for victim in each.get("victims") or ()]
    if found.get("last_forecast"):
        lines.append(printable(f"last forecast: {found['last_forecast']}"))
    lines.append(printable(f"next: {found['next']}"))
    return lines
