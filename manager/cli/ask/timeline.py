"""`turnstile timeline`: what happened to one Workload, in order, or which workloads were preempted."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import typer

from config.api.meta import NANOSECONDS, Obj, format_time, parse_time
from config.types.syntax import printable
from manager.cli.ask.explain import WORKLOAD_FORMS
from manager.cli.ask.listings import workload_name
from manager.cli.ask.sources import AnswerSource
from manager.cli.ask.victims import (
    VictimOptions,
    VictimQuestion,
    daemon_reader,
    journal_reader,
    seconds_of,
    victim_listing,
)
from manager.cli.conventions.completion import complete_workload
from manager.cli.conventions.configuration import configuration_of, default_file
from manager.cli.conventions.errors import BadInputError, refusing
from manager.cli.conventions.hub import namespace_of
from manager.cli.conventions.optiongroups import with_option_groups
from manager.cli.conventions.options import DaemonOptions, NamespaceScope, Presentation, Watching
from manager.cli.conventions.output import TableColumn, TableView, show
from manager.cli.conventions.subjects import WORKLOAD, CommandSubject, subject_of
from manager.cli.conventions.watching import follow
from manager.cli.display.fitting import Priority

_MOST_DECISIONS: Final = 100_000
"""How many decisions are read from a file, which may hold any number."""


@dataclass(frozen=True, slots=True)
class JournalOption:
    """A journal to read without the daemon."""

    journal: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="A journal (journal.path), or a copy of one: read it instead of asking a daemon."
        ),
    ] = None
    config: Annotated[
        Path | None,
        typer.Option("--config", "-c", metavar="FILE", help="A configuration file whose journal.path is read instead."),
    ] = None


@with_option_groups
def timeline(
    workload: Annotated[
        str | None,
        typer.Argument(metavar="WORKLOAD", help=WORKLOAD_FORMS, show_default=False, autocompletion=complete_workload),
    ] = None,
    *,
    preempted: VictimOptions,
    file: JournalOption,
    scope: NamespaceScope,
    presentation: Presentation,
    watching: Watching,
    connection: DaemonOptions,
) -> None:
    """Show what happened to a Workload and when: replicas, gate requests, gates, forecasts, victims, the winner.

    With --victims: which workloads were preempted, when, where, for which Workload, and whether that was forecast.
    """
    if preempted.victims:
        _show_victims(workload, preempted, file, scope, presentation, watching, connection)
        return
    subject = _subject(workload, preempted, scope, connection)
    if (journal := _journal_of(file)) is not None:
        read = _journal_reader(journal, subject)
    else:
        source = AnswerSource(connection)
        namespace, name = source.workload_of(subject)
        read = lambda: source.ask("workloads", namespace, name, "timeline")  # noqa: E731
    told = read()
    if told["journalProblem"]:
        problem = told["journalProblem"] if told["source"] != "hub" else _no_daemon()
        typer.echo(f"showing only what the hub's object says: {printable(problem)}", err=True)
    if told.get("continue"):
        typer.echo("showing only the newest decisions; --journal FILE reads all of them", err=True)
    if watching.watch:
        follow(lambda: timeline_listing(read()), presentation.output)
    else:
        show(timeline_listing(told), presentation.output)


def _subject(
    workload: str | None, preempted: VictimOptions, scope: NamespaceScope, connection: DaemonOptions
) -> CommandSubject:
    for option in ("since", "worker"):
        if getattr(preempted, option) is not None:
            raise BadInputError(f"--{option} requires --victims")
    if scope.all_namespaces:
        raise BadInputError("--all-namespaces requires --victims")
    if workload is None:
        raise BadInputError("name a Workload, or list who was preempted with --victims")
    return subject_of(workload, scope, connection)


def _show_victims(
    workload: str | None,
    preempted: VictimOptions,
    file: JournalOption,
    scope: NamespaceScope,
    presentation: Presentation,
    watching: Watching,
    connection: DaemonOptions,
) -> None:
    """List victims: of a namespace, or the one that is named."""
    subject = subject_of(workload, scope, connection) if workload is not None else None
    if subject is not None and subject.kind != WORKLOAD:
        raise BadInputError(f"{subject}: victims are known by their Workload on the worker; give its name")
    namespace = subject.namespace if subject is not None else namespace_of(scope, connection)
    name = subject.name if subject is not None else ""
    question = VictimQuestion(namespace or "", name, preempted.worker or "", seconds_of(preempted.since))
    journal = _journal_of(file)
    if journal is not None:
        read = journal_reader(journal, question, _MOST_DECISIONS, time.time_ns())
    else:
        read = daemon_reader(connection, question)
    told = read()
    if told["continue"]:
        typer.echo("showing only the newest decisions; a shorter --since needs fewer", err=True)
    has_namespaces = namespace is None
    if watching.watch:
        follow(lambda: victim_listing(read(), has_namespaces=has_namespaces), presentation.output)
    else:
        show(victim_listing(told, has_namespaces=has_namespaces), presentation.output)


def _no_daemon() -> str:
    """Say where the journal is, as far as this machine knows."""
    try:
        path = configuration_of(None).journal.path
    except BadInputError:
        path = None
    if path is None:
        return "the daemon keeps the journal, and does not answer; --journal FILE reads it, or a copy of it"
    return f"the daemon does not answer; its journal is {path} by {default_file()}: --journal {path} reads it"


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


def timeline_listing(answer: Obj) -> TableView:
    """Return a timeline as the result of a command."""
    events = answer["events"]
    first_ns = parse_time(events[0]["time"]) if events else 0

    def after(event: Obj) -> str:
        return f"+{(parse_time(event['time']) - first_ns) / NANOSECONDS:.1f}s"

    return TableView(
        kind="Timeline",
        items=events,
        columns=(
            TableColumn("TIME", lambda event: format_time(parse_time(event["time"]))),
            TableColumn("AFTER", after, priority=Priority.ESSENTIAL),
            TableColumn("EVENT", lambda event: event["event"], priority=Priority.ESSENTIAL),
            TableColumn("WORKER", lambda event: event["worker"] or "-", priority=Priority.ESSENTIAL),
            TableColumn("MESSAGE", lambda event: event["message"] or "-", priority=Priority.ESSENTIAL),
        ),
        name=lambda _event: workload_name(answer),
        empty="nothing is recorded",
        more={key: answer[key] for key in ("source", "namespace", "name", "journalProblem")},
        key=lambda event: (event["time"], event["event"], event["worker"]),
    )
