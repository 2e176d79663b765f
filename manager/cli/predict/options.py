"""The options that `predict`, `predict-pods` and `simulate` share."""

from dataclasses import dataclass
from typing import Annotated

import typer

from manager.cli.conventions.errors import BadInputError

FILES_HELP = "File or directory of manifests, or - for standard input; repeatable."


@dataclass(frozen=True, slots=True)
class PredictionInput:
    """What to predict from: manifests, or scenarios line by line."""

    files: Annotated[list[str] | None, typer.Option("--filename", "-f", metavar="PATH", help=FILES_HELP)] = None
    batch: Annotated[
        bool, typer.Option("--batch", help="Read one scenario per line from standard input; print one answer per line.")
    ] = False

    def required_files(self) -> list[str]:
        """Return the files; raises `BadInputError` if there are none."""
        if not self.files:
            raise BadInputError("nothing to predict from: give manifests with -f, or scenarios with --batch")
        return self.files


@dataclass(frozen=True, slots=True)
class KueueOptions:
    """The clock and the configuration of the Kueue whose decisions are made here."""

    now: Annotated[
        str | None, typer.Option(metavar="TIME", help="The start time, RFC 3339; by default the current time.")
    ] = None
    kueue_version: Annotated[
        str | None,
        typer.Option(metavar="VERSION", help="The version of Kueue whose rules decide, such as v0.18.3."),
    ] = None
    feature_gates: Annotated[
        str | None,
        typer.Option(metavar="GATES", help="Kueue's feature gates, such as PriorityBoost=true,PartialAdmission=false."),
    ] = None
    fair_sharing: Annotated[
        str | None,
        typer.Option(
            metavar="STRATEGIES", help="Enable fair sharing: `default`, or its preemption strategies, comma-separated."
        ),
    ] = None
