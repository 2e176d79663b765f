"""`turnstile timeline`: what happened to one Workload, in order."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import typer

from config.api.meta import NANOSECONDS, Obj, format_time, parse_time
from config.types.syntax import printable
from manager.cli.ask.explain import WorkloadArgument
from manager.cli.ask.listings import workload_name
from manager.cli.ask.sources import AnswerSource
from manager.cli.conventions.configuration import configuration_of
from manager.cli.conventions.errors import BadInputError, refusing
from manager.cli.conventions.optiongroups import with_option_groups
from manager.cli.conventions.options import DaemonOptions, NamespaceOption, Presentation, Watching
from manager.cli.conventions.output import TableColumn, TableView, show
from manager.cli.conventions.subjects import WORKLOAD, CommandSubject, subject_of
from manager.cli.conventions.watching import follow

_MOST_DECISIONS: Final = 100_000
"""How many decisions are read from a file, which may hold any number."""


@dataclass(frozen=True, slots=True)
class JournalOption:
    """A journal to read without the daemon."""

    journal: Annotated[
        Path | None,
        typer.Option(help="A journal (journal.path), or a copy of one: read it instead of asking a daemon."),
    ] = None
    config: Annotated[
        Path | None, typer.Option("--config", "-c", help="A configuration file whose journal.path is read instead.")
    ] = None


@with_option_groups
def timeline(
    workload: WorkloadArgument,
    *,
    file: JournalOption,
    chosen: NamespaceOption,
    presentation: Presentation,
    watching: Watching,
    connection: DaemonOptions,
) -> None:
    """Show what happened to a Workload and when: replicas, gate requests, gates, forecasts, victims, the winner."""
    subject = subject_of(workload, chosen, connection)
    if (journal := _journal_of(file)) is not None:
        read = _journal_reader(journal, subject)
    else:
        source = AnswerSource(connection)
        namespace, name = source.workload_of(subject)
        read = lambda: source.ask("workloads", namespace, name, "timeline")  # noqa: E731
    told = read()
    if told["journalProblem"]:
        typer.echo(f"showing only what the hub's object says: {printable(told['journalProblem'])}", err=True)
    if told.get("continue"):
        typer.echo("showing only the newest decisions; --journal FILE reads all of them", err=True)
    if watching.watch:
        follow(lambda: _listing(read()), presentation.output)
    else:
        show(_listing(told), presentation.output)


def _journal_of(file: JournalOption) -> Path | None:
    if file.config is None:
        return file.journal
    if file.journal is not None:
        raise BadInputError("--journal and --config both name a journal; give only one")
    path = configuration_of(file.config).journal.path
    if path is None:
        raise BadInputError(f"{file.config}: journal.path is null, so no journal is kept")
    return path


def _journal_reader(journal: Path, subject: CommandSubject) -> Callable[[], Obj]:
    """Return a reader of a journal that needs no daemon; raises `BadInputError` if it cannot be used."""
    if subject.kind != WORKLOAD:
        raise BadInputError(f"{subject}: a journal lists Workloads, not jobs; give the Workload's name")
    from manager.journal.reader import blamed_on
    from manager.journal.schema import JournalError
    from manager.journal.timelines import timeline_document

    def read() -> Obj:
        with refusing(JournalError), blamed_on(journal):
            found = timeline_document(subject.namespace, subject.name, None, journal, most=_MOST_DECISIONS)
        if found["journalProblem"]:
            raise BadInputError(found["journalProblem"])
        if not found["events"]:
            raise BadInputError(f"{journal}: no decision about {subject} is recorded")
        return {"source": "journal", **found}

    return read


def _listing(answer: Obj) -> TableView:
    events = answer["events"]
    first_ns = parse_time(events[0]["time"]) if events else 0

    def after(event: Obj) -> str:
        return f"+{(parse_time(event['time']) - first_ns) / NANOSECONDS:.1f}s"

    return TableView(
        kind="Timeline",
        items=events,
        columns=(
            TableColumn("TIME", lambda event: format_time(parse_time(event["time"]))),
            TableColumn("AFTER", after),
            TableColumn("EVENT", lambda event: event["event"]),
            TableColumn("WORKER", lambda event: event["worker"] or "-"),
            TableColumn("MESSAGE", lambda event: event["message"] or "-"),
        ),
        name=lambda _event: workload_name(answer),
        empty="nothing is recorded",
        more={key: answer[key] for key in ("source", "namespace", "name", "journalProblem")},
        key=lambda event: (event["time"], event["event"], event["worker"]),
    )
