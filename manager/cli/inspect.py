"""`turnstile status` and `turnstile explain`: what the running daemon knows."""

import json
from collections.abc import Iterable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from manager.cli.asking import DEFAULT_SOCKET, NO_DAEMON, NoAnswerError, UnknownError, ask

_UNKNOWN = 2

Socket = Annotated[Path, typer.Option("--socket", help="The daemon's socket, as api.socket names it.")]


class Subject(StrEnum):
    """What there is to list."""

    WORKERS = "workers"
    WORKLOADS = "workloads"


class Output(StrEnum):
    """How a result is printed."""

    TABLE = "table"
    JSON = "json"


Form = Annotated[Output, typer.Option("--output", "-o", help="How to print.")]


def status(
    subject: Annotated[Subject, typer.Argument(help="What to list.")] = Subject.WORKERS,
    socket: Socket = Path(DEFAULT_SOCKET),
    output: Form = Output.TABLE,
) -> None:
    """List workers and how their forecasts do, or Workloads and where they stand. Exits with 3 if no daemon answers."""
    found = _ask(socket, subject.value)[subject.value]
    if output is Output.JSON:
        typer.echo(json.dumps(found, indent=2))
    elif subject is Subject.WORKERS:
        rows = [
            (
                each["name"],
                each["connection"],
                str(each["copies"]),
                each["forecast"],
                "-" if each["hitRate"] is None else f"{each['hitRate']}%",
            )
            for each in found
        ]
        _print_table(("WORKER", "CONNECTION", "COPIES", "FORECASTS", "EXACT"), rows)
    else:
        rows = [
            (each["workload"], each["check"], each["cluster"] or "-", each["forecast"] or "-", each["message"])
            for each in found
        ]
        _print_table(("WORKLOAD", "CHECK", "CLUSTER", "FORECAST", "MESSAGE"), rows)


def explain(
    workload: Annotated[str, typer.Argument(help="The Workload, as NAMESPACE/NAME.")],
    socket: Socket = Path(DEFAULT_SOCKET),
    output: Form = Output.TABLE,
) -> None:
    """Say what a Workload waits for, what each worker says and would do, and what happens next."""
    namespace, separator, name = workload.partition("/")
    if not (namespace and separator and name) or "/" in name:
        _fail(f'Workload "{workload}" is not allowed: must be NAMESPACE/NAME', _UNKNOWN)
    found = _ask(socket, "workloads", namespace, name, "explanation")
    if output is Output.JSON:
        typer.echo(json.dumps(found, indent=2))
        return
    typer.echo(f"{found['workload']}: {found['state']}")
    if found["workers"]:
        rows = [(each["name"], each["gate"], each["says"], each["forecast"]) for each in found["workers"]]
        _print_table(("WORKER", "GATE", "SAYS", "WOULD"), rows)
    for each in found["workers"]:
        for victim in each.get("victims") or ():
            typer.echo(f"  {each['name']} would preempt {victim}")
        if each.get("pods"):
            typer.echo(f"  pods on {each['name']}: {each['pods']}")
        for victim in each.get("pod_victims") or ():
            typer.echo(f"  {each['name']} would evict pod {victim}")
    if found.get("last_forecast"):
        typer.echo(f"last forecast: {found['last_forecast']}")
    if found.get("last_pods"):
        typer.echo(f"last forecast of pods: {found['last_pods']}")
    typer.echo(f"next: {found['next']}")


def _ask(socket: Path, *place: str) -> Any:
    try:
        return ask(socket, *place)
    except NoAnswerError as error:
        _fail(str(error), NO_DAEMON)
    except UnknownError as error:
        _fail(str(error), _UNKNOWN)


def _print_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    lines = [tuple(head), *(tuple(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    for line in lines:
        typer.echo("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def _fail(reason: str, code: int) -> NoReturn:
    typer.echo(f"error: {reason}", err=True)
    raise typer.Exit(code)
