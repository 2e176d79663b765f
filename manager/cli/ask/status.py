"""`turnstile status`: workers, Workloads, gates and forecasts, or counts of them."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Final

import typer

from config.api.meta import Obj
from config.types.syntax import printable
from manager.cli.ask.listings import listing_of
from manager.cli.ask.sources import AnswerSource
from manager.cli.ask.topology_report import topology_report
from manager.cli.conventions.errors import BadInputError
from manager.cli.conventions.hub import namespace_of
from manager.cli.conventions.optiongroups import with_option_groups
from manager.cli.conventions.options import ConfiguredDaemonOptions, NamespaceScope, Presentation, Watching
from manager.cli.conventions.output import Report, TableView, show
from manager.cli.conventions.terminal import TerminalScreen, Tone
from manager.cli.conventions.watching import follow

_NAMED: Final = "list workloads, workers, gates or forecasts"


class StatusSubject(StrEnum):
    """What can be listed."""

    WORKLOADS = "workloads"
    WORKERS = "workers"
    GATES = "gates"
    FORECASTS = "forecasts"
    TOPOLOGY = "topology"


_SUBJECTS: Final = f"[{'|'.join(StatusSubject)}]"


@with_option_groups
def status(
    subject: Annotated[
        StatusSubject | None, typer.Argument(metavar=_SUBJECTS, help="What to list; by default, only counts.")
    ] = None,
    worker: Annotated[
        str | None, typer.Argument(metavar="WORKER", help="The worker whose topology is shown.", show_default=False)
    ] = None,
    *,
    scope: NamespaceScope,
    nodes: Annotated[bool, typer.Option("--nodes", help="Show the lowest level of a topology as well.")] = False,
    finished: Annotated[bool, typer.Option("--finished", help="List finished Workloads as well.")] = False,
    presentation: Presentation,
    watching: Watching,
    connection: ConfiguredDaemonOptions,
) -> None:
    """Show workers, Workloads, gates and forecasts. Asks the daemon, or the hub if no daemon answers.

    With `topology WORKER`: what is free and used in the domains of the worker's topologies, level by level. Only a
    daemon knows that, of workers with `topology: true`.
    """
    if finished and subject is not StatusSubject.WORKLOADS:
        raise BadInputError("--finished is about Workloads; use it with `turnstile status workloads`")
    if (subject is StatusSubject.TOPOLOGY) != (worker is not None):
        raise BadInputError("a topology is that of one worker; use `turnstile status topology WORKER`")
    if nodes and worker is None:
        raise BadInputError("--nodes is about a topology; use it with `turnstile status topology WORKER`")
    form = presentation.output if subject else presentation.without_names(_NAMED)
    from manager.cli.conventions.daemon import daemon_of

    source = AnswerSource(connection)
    is_overview = subject is None and scope.namespace is None
    namespace = None if is_overview else namespace_of(scope, connection)

    def fetch() -> TableView | Report:
        if worker is not None:
            query = {"nodes": "true"} if nodes else None
            found = daemon_of(connection).ask("workers", worker, "topology", query=query)
            return topology_report({"source": "daemon", **found})
        answer = source.ask(subject or "overview", namespace=namespace, finished=finished)
        if subject is None:
            return _overview(answer)
        return listing_of(subject, answer, has_namespaces=namespace is None)

    if watching.watch:
        follow(fetch, form)
    else:
        show(fetch(), form)


def _overview(answer: Obj) -> Report:
    body = {"source": answer["source"], "asOf": answer["now"]}
    body |= {key: value for key, value in answer.items() if key not in ("source", "now")}
    state = {key: value for key, value in body.items() if key != "asOf"}
    return Report("Overview", body, lambda screen, _wide: _lines(body, screen), [], state)


def _lines(body: Obj, screen: TerminalScreen) -> list[str]:
    workers = body["workers"]
    away = screen.paint(f", away: {printable(', '.join(workers['away']))}", Tone.BAD) if workers["away"] else ""
    doubted = workers["unreliable"]
    doubt = screen.paint(f", forecasts unreliable: {printable(', '.join(doubted))}", Tone.BAD) if doubted else ""
    return [
        f"daemon     {printable(_daemon(body.get('daemon')))}",
        f"workers    {workers['connected']} of {workers['total']} connected{away}{doubt}",
        f"workloads  {_counted(body['workloads'])}",
        f"gates      {_counted(body['gates'])}",
        f"forecasts  {_counted(body['forecasts'])}",
    ]


def _daemon(daemon: Obj | None) -> str:
    if daemon is None:
        return "does not answer"
    acts = "acts" if daemon["acts"] else "is standby"
    return f"{daemon['version']} {acts} for {daemon['origin']}, hub {daemon['hub']}"


def _counted(counts: Mapping[str, int]) -> str:
    return printable(", ".join(f"{count} {word}" for word, count in counts.items()) or "none")
