"""`turnstile predict-pods`: what a kube-scheduler would do with pending pods and PodGroups, from objects alone."""

import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from manager.cli.predict import Output

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.pods.answer import Forecast


class ModeOption(StrEnum):
    """`engine.pods.values.Mode`, spelt out here so that no other command need load the engine."""

    V1_37 = "1.37"
    V1_36 = "1.36"
    KEP = "kep"


def predict_pods(
    *,
    files: Annotated[
        list[str] | None,
        typer.Option("--filename", "-f", help="File or directory of manifests, or - for standard input; repeatable."),
    ] = None,
    pod: Annotated[str | None, typer.Option(help="NAMESPACE/NAME of the one Pod to predict.")] = None,
    pod_group: Annotated[str | None, typer.Option(help="NAMESPACE/NAME of the one PodGroup to predict.")] = None,
    mode: Annotated[
        ModeOption, typer.Option(help="Whose rules: a release of kube-scheduler, or KEP-5710 as written.")
    ] = ModeOption.V1_37,
    output: Annotated[Output, typer.Option("--output", "-o", help="How to print.")] = Output.TABLE,
    batch: Annotated[
        bool, typer.Option("--batch", help="Read one scenario per line from standard input, answer one per line.")
    ] = False,
) -> None:
    """Predict which pods kube-scheduler would evict for pending pods and PodGroups, and say why."""
    if batch:
        _answer_lines()
        return
    from engine.pods.values import Mode
    from manager.cli.predict_pods_manifests import forecast_manifests

    if not files:
        _fail("nothing to predict from: give manifests with -f, or scenarios with --batch")
    if pod is not None and pod_group is not None:
        _fail("--pod and --pod-group exclude each other: ask for one of them")
    try:
        forecasts = forecast_manifests(files, pod=pod, pod_group=pod_group, mode=Mode(mode.value))
    except ValueError as error:
        _fail(str(error))
    _print(forecasts, output)


def _fail(reason: str) -> NoReturn:
    typer.echo(f"error: {reason}", err=True)
    raise typer.Exit(2)


def _print(forecasts: "Sequence[Forecast]", output: Output) -> None:
    from manager.cli.predict_pods_report import as_data, as_table

    if output is Output.TABLE:
        typer.echo(as_table(forecasts) if forecasts else "no pod is pending")
        return
    data = {"forecasts": [as_data(forecast) for forecast in forecasts]}
    if output is Output.JSON:
        import orjson

        typer.echo(orjson.dumps(data, option=orjson.OPT_INDENT_2))
    else:
        import yaml

        typer.echo(yaml.safe_dump(data, sort_keys=False), nl=False)


def _answer_lines() -> None:
    from manager.cli.predict_pods_batch import answer_lines

    for answer in answer_lines(sys.stdin.buffer):
        sys.stdout.buffer.write(answer + b"\n")
        sys.stdout.buffer.flush()
