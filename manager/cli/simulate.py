"""`turnstile simulate`: what a Kueue would do with a whole cluster, cycle by cycle, from objects alone."""

import time
from enum import StrEnum
from typing import Annotated, NoReturn

import typer

from manager.cli.predict import Output


class VictimsOption(StrEnum):
    """`engine.simulation.Victims`, spelt out here so that `--help` need not load the engine."""

    RELEASED = "Released"
    TERMINATING = "Terminating"


def simulate(
    *,
    files: Annotated[
        list[str],
        typer.Option("--filename", "-f", help="File or directory of manifests, or - for standard input; repeatable."),
    ],
    cycles: Annotated[int, typer.Option(min=1, help="Stop after so many scheduling cycles.")] = 20,
    victims: Annotated[
        VictimsOption, typer.Option(help="Whether evicted workloads give their quota back before the next cycle.")
    ] = VictimsOption.RELEASED,
    now: Annotated[
        str | None, typer.Option(help="The time to begin at, RFC 3339; the current time by default.")
    ] = None,
    until: Annotated[
        str | None, typer.Option(help="Let time pass up to here when nothing else happens, RFC 3339.")
    ] = None,
    feature_gates: Annotated[
        str | None,
        typer.Option(help="Gates of the simulated Kueue, such as PriorityBoost=true,PartialAdmission=false."),
    ] = None,
    fair_sharing: Annotated[
        str | None,
        typer.Option(help="Switch fair sharing on: `default`, or its preemption strategies separated by commas."),
    ] = None,
    output: Annotated[Output, typer.Option("--output", "-o", help="How to print.")] = Output.TABLE,
) -> None:
    """Simulate several scheduling cycles: who is admitted, who is preempted, whose gate signals, and who waits."""
    from engine.cycles.simulation import Victims
    from manager.cli.simulate_manifests import simulate_manifests
    from manager.cli.simulate_report import as_data, as_table

    try:
        result = simulate_manifests(
            files,
            cycles=cycles,
            victims=Victims(victims),
            now=now,
            until=until,
            current_time_ns=time.time_ns(),
            feature_gates=feature_gates,
            fair_sharing=fair_sharing,
        )
    except ValueError as error:
        _fail(str(error))
    if output is Output.TABLE:
        typer.echo(as_table(result))
    elif output is Output.JSON:
        import orjson

        typer.echo(orjson.dumps(as_data(result), option=orjson.OPT_INDENT_2))
    else:
        import yaml

        typer.echo(yaml.safe_dump(as_data(result), sort_keys=False), nl=False)


def _fail(reason: str) -> NoReturn:
    typer.echo(f"error: {reason}", err=True)
    raise typer.Exit(2)
