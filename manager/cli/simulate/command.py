"""`turnstile simulate`: what a Kueue would do with a whole cluster, cycle by cycle, from objects alone."""

import time
from enum import StrEnum
from typing import Annotated

import typer

from manager.cli.conventions.errors import refusing
from manager.cli.conventions.optiongroups import with_option_groups
from manager.cli.conventions.options import Presentation
from manager.cli.conventions.output import show
from manager.cli.conventions.progress import working
from manager.cli.predict.options import FILES_HELP, KueueOptions


class VictimsOption(StrEnum):
    """`engine.cycles.simulation.Victims`, spelt out here so that `--help` need not load the engine."""

    RELEASED = "Released"
    TERMINATING = "Terminating"


@with_option_groups
def simulate(
    *,
    files: Annotated[list[str], typer.Option("--filename", "-f", metavar="PATH", help=FILES_HELP)],
    cycles: Annotated[int, typer.Option(min=1, metavar="NUMBER", help="Stop after this many scheduling cycles.")] = 20,
    victims: Annotated[
        VictimsOption, typer.Option(help="Whether evicted workloads release their quota before the next cycle.")
    ] = VictimsOption.RELEASED,
    until: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Advance the clock up to this time while nothing else happens, RFC 3339."),
    ] = None,
    kueue: KueueOptions,
    presentation: Presentation,
) -> None:
    """Simulate scheduling cycles: which workloads are admitted, preempted, blocked on a gate, or waiting."""
    from engine.cycles.simulation import Victims
    from manager.cli.simulate.manifests import simulate_manifests
    from manager.cli.simulate.report import report_of

    with refusing(ValueError), working("simulating"):
        result = simulate_manifests(
            files, kueue, cycles=cycles, victims=Victims(victims), until=until, current_time_ns=time.time_ns()
        )
    show(report_of(result), presentation.output)
