"""`turnstile predict`: what a Kueue would do with pending workloads, from objects alone."""

import sys
import time
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.decision import Prediction


class Output(StrEnum):
    """How predictions are printed."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


def predict(
    *,
    files: Annotated[
        list[str] | None,
        typer.Option("--filename", "-f", help="File or directory of manifests, or - for standard input; repeatable."),
    ] = None,
    workload: Annotated[
        str | None, typer.Option(help="NAMESPACE/NAME of the one to predict; all pending ones by default.")
    ] = None,
    now: Annotated[
        str | None, typer.Option(help="The time to predict for, RFC 3339; the current time by default.")
    ] = None,
    feature_gates: Annotated[
        str | None,
        typer.Option(help="Gates of the predicted Kueue, such as PriorityBoost=true,PartialAdmission=false."),
    ] = None,
    fair_sharing: Annotated[
        str | None,
        typer.Option(help="Switch fair sharing on: `default`, or its preemption strategies separated by commas."),
    ] = None,
    output: Annotated[Output, typer.Option("--output", "-o", help="How to print.")] = Output.TABLE,
    batch: Annotated[
        bool, typer.Option("--batch", help="Read one scenario per line from standard input, answer one per line.")
    ] = False,
) -> None:
    """Predict whom Kueue would preempt for pending workloads, and say why."""
    if batch:
        _answer_lines()
        return
    from manager.cli.predict_manifests import predict_manifests

    if not files:
        _fail("nothing to predict from: give manifests with -f, or scenarios with --batch")
    try:
        predictions = predict_manifests(
            files,
            workload=workload,
            now=now,
            current_time_ns=time.time_ns(),
            feature_gates=feature_gates,
            fair_sharing=fair_sharing,
        )
    except ValueError as error:
        _fail(str(error))
    _print(predictions, output)


def _fail(reason: str) -> NoReturn:
    typer.echo(f"error: {reason}", err=True)
    raise typer.Exit(2)


def _print(predictions: "Sequence[Prediction]", output: Output) -> None:
    from manager.cli.predict_report import as_data, as_table

    if output is Output.TABLE:
        typer.echo(as_table(predictions) if predictions else "no workload is pending")
        return
    data = {"predictions": [as_data(prediction) for prediction in predictions]}
    if output is Output.JSON:
        import orjson

        typer.echo(orjson.dumps(data, option=orjson.OPT_INDENT_2))
    else:
        import yaml

        typer.echo(yaml.safe_dump(data, sort_keys=False), nl=False)


def _answer_lines() -> None:
    from manager.cli.predict_batch import answer_lines

    for answer in answer_lines(sys.stdin.buffer):
        sys.stdout.buffer.write(answer + b"\n")
        sys.stdout.buffer.flush()
