"""`turnstile predict-pods`: what a kube-scheduler would do with pending pods and PodGroups, from objects alone."""

from enum import StrEnum
from typing import Annotated

import typer

from manager.cli.conventions.errors import BadInputError, refusing
from manager.cli.conventions.optiongroups import with_option_groups
from manager.cli.conventions.options import Presentation
from manager.cli.conventions.output import show
from manager.cli.conventions.progress import working
from manager.cli.predict.options import PredictionInput


class ModeOption(StrEnum):
    """`config.types.choices.PodForecastMode`, spelt out here so that no other command need load the configuration."""

    V1_37 = "v1.37"
    V1_36 = "v1.36"
    KEP = "kep"


def _mode(text: str) -> ModeOption:
    """Read a mode as the configuration spells it; without the `v` as well, which was the spelling before."""
    try:
        return ModeOption(f"v{text}" if text[:1].isdecimal() else text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not one of {', '.join(ModeOption)}") from None


@with_option_groups
def predict_pods(
    *,
    given: PredictionInput,
    pod: Annotated[str | None, typer.Option(metavar="NAMESPACE/NAME", help="The only Pod to predict.")] = None,
    pod_group: Annotated[
        str | None, typer.Option(metavar="NAMESPACE/NAME", help="The only PodGroup to predict.")
    ] = None,
    mode: Annotated[
        ModeOption,
        typer.Option(
            parser=_mode,
            metavar="|".join(ModeOption),
            help="Whose rules: a release of kube-scheduler, or KEP-5710 with the delayed preemption that was dropped.",
        ),
    ] = ModeOption.V1_37,
    presentation: Presentation,
) -> None:
    """Predict which pods kube-scheduler would evict for pending pods and PodGroups, and why."""
    if given.batch:
        from manager.cli.predict.batch import answer_standard_input
        from manager.cli.predict.pods_scenarios import answer

        answer_standard_input(answer)
        return
    from engine.pods.values.values import SchedulerMode
    from manager.cli.predict.pods_manifests import forecast_manifests
    from manager.cli.predict.pods_report import report_of

    files = given.required_files()
    if pod is not None and pod_group is not None:
        raise BadInputError("--pod and --pod-group exclude each other; give only one")
    with refusing(ValueError), working("predicting"):
        forecasts = forecast_manifests(files, pod=pod, pod_group=pod_group, mode=SchedulerMode(mode.removeprefix("v")))
    show(report_of(forecasts), presentation.output)
