"""`turnstile explain`: one screen about one Workload."""

from typing import Annotated, Final

import typer

from config.api.meta import Obj
from manager.cli.ask.explain_report import lines_of
from manager.cli.ask.listings import workload_name
from manager.cli.ask.sources import AnswerSource
from manager.cli.conventions.completion import complete_workload
from manager.cli.conventions.optiongroups import with_option_groups
from manager.cli.conventions.options import ConfiguredDaemonOptions, NamespaceOption, Presentation, Watching
from manager.cli.conventions.output import Report, show
from manager.cli.conventions.subjects import subject_of
from manager.cli.conventions.watching import follow

WORKLOAD_FORMS: Final = "NAMESPACE/NAME, NAME with -n, workload/NAME or job/NAME."
WorkloadArgument = Annotated[
    str, typer.Argument(metavar="WORKLOAD", help=WORKLOAD_FORMS, autocompletion=complete_workload)
]


@with_option_groups
def explain(
    workload: WorkloadArgument,
    *,
    chosen: NamespaceOption,
    presentation: Presentation,
    watching: Watching,
    connection: ConfiguredDaemonOptions,
) -> None:
    """Show where a Workload is queued, what each worker reports and would do, which gate is open, and what is next."""
    subject = subject_of(workload, chosen, connection)
    source = AnswerSource(connection)
    namespace, name = source.workload_of(subject)

    def fetch() -> Report:
        return report_of(source.ask("workloads", namespace, name, "explanation"))

    if watching.watch:
        follow(fetch, presentation.output)
    else:
        show(fetch(), presentation.output)


def report_of(answer: Obj) -> Report:
    """Return an explanation as the result of a command."""
    body = {"source": answer["source"], "asOf": answer["now"]}
    body |= {key: value for key, value in answer.items() if key not in ("source", "now")}
    state = {**body, "asOf": "", "next": {**body["next"], "at": ""}}  # time that passes is no change
    return Report(
        "Explanation", body, lambda screen, wide: lines_of(body, screen, is_wide=wide), [workload_name(body)], state
    )
