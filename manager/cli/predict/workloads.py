"""`turnstile predict`: what a Kueue would do with pending workloads, from objects alone."""

import time
from functools import partial
from typing import Annotated

import typer

from manager.cli.conventions.errors import refusing
from manager.cli.conventions.optiongroups import with_option_groups
from manager.cli.conventions.options import Presentation
from manager.cli.conventions.output import show
from manager.cli.conventions.progress import working
from manager.cli.predict.options import KueueOptions, PredictionInput


@with_option_groups
def predict(
    *,
    given: PredictionInput,
    workload: Annotated[
        str | None,
        typer.Option(metavar="NAMESPACE/NAME", help="The only Workload to predict; by default all pending ones."),
    ] = None,
    kueue: KueueOptions,
    presentation: Presentation,
) -> None:
    """Predict which workloads Kueue would preempt for pending ones, and why."""
    if given.batch:
        from manager.cli.predict.batch import answer_standard_input
        from manager.cli.predict.scenarios import answer

        answer_standard_input(partial(answer, kueue_version=kueue.kueue_version))
        return
    from manager.cli.predict.manifests import predict_manifests
    from manager.cli.predict.report import report_of

    with refusing(ValueError), working("predicting"):
        predictions = predict_manifests(
            given.required_files(), kueue, workload=workload, current_time_ns=time.time_ns()
        )
    show(report_of(predictions), presentation.output)
