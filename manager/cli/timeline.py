"""`turnstile timeline`: what happened to one Workload, in order."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from config.api.meta import NANOSECONDS, format_time, parse_time
from manager.cli.asking import Source
from manager.cli.conventions.errors import BadInputError
from manager.cli.conventions.optiongroups import with_option_groups
from manager.cli.conventions.options import Connection, NamespaceOption, Presentation, Watching
from manager.cli.conventions.output import Column, Listing, Obj, show
from manager.cli.conventions.subjects import WORKLOAD, Subject, subject_of
from manager.cli.conventions.terminal import printable
from manager.cli.conventions.watching import follow
from manager.cli.explain import WorkloadArgument
from manager.cli.listings import workload_name


@dataclass(frozen=True, slots=True)
class JournalOption:
    """A journal to read without the daemon."""

    journal: Annotated[
        Path | None,
        typer.Option(help="A journal, as journal.path names it, or a copy of one: read it and ask nobody."),
    ] = None
    config: Annotated[
        Path | None, typer.Option("--config", "-c", help="A configuration file whose journal.path is read so.")
    ] = None


@with_option_groups
def timeline(
    workload: WorkloadArgument,
    *,
    file: JournalOption,
    chosen: NamespaceOption,
    presentation: Presentation,
    watching: Watching,
    connection: Connection,
) -> None:
    """Say what happened to a Workload and when: copies, requests to preempt, gates, forecasts, victims, the winner."""
    subject = subject_of(workload, chosen, connection)
    if (journal := _journal_of(file)) is not None:
        read = _journal_reader(journal, subject)
    else:
        source = Source(connection)
        namespace, name = source.workload_of(subject)
        read = lambda: source.ask("workloads", namespace, name, "timeline")  # noqa: E731
    told = read()
    if told["journalProblem"]:
        typer.echo(f"only what the hub's object says: {printable(told['journalProblem'])}", err=True)
    if watching.watch:
        follow(lambda: _listing(read()), presentation.output)
    else:
        show(_listing(told), presentation.output)


def _journal_of(file: JournalOption) -> Path | None:
    if file.config is None:
        return file.journal
    if file.journal is not None:
        raise BadInputError("--journal and --config both name a journal; give one of them")
    import os

    from config.loading import load_configuration
    from config.problems import ConfigurationError

    try:
        path = load_configuration(file.config, os.environ).configuration.journal.path
    except ConfigurationError as error:
        raise BadInputError("; ".join(map(str, error.problems))) from None
    if path is None:
        raise BadInputError(f"{file.config}: journal.path is null, so no journal is kept")
    return path


def _journal_reader(journal: Path, subject: Subject) -> Callable[[], Obj]:
    """Return what reads a journal without asking anybody; raises `BadInputError` for one of no use."""
    if subject.kind != WORKLOAD:
        raise BadInputError(f"{subject}: a journal knows Workloads, not their jobs; give the Workload's name")
    from manager.timelines import timeline_document

    def read() -> Obj:
        found = timeline_document(subject.namespace, subject.name, None, journal)
        if found["journalProblem"]:
            raise BadInputError(found["journalProblem"])
        if not found["events"]:
            raise BadInputError(f"{journal}: no decision about {subject} is recorded")
        return {"source": "journal", **found}

    return read


def _listing(answer: Obj) -> Listing:
    events = answer["events"]
    first_ns = parse_time(events[0]["time"]) if events else 0

    def after(event: Obj) -> str:
        return f"+{(parse_time(event['time']) - first_ns) / NANOSECONDS:.1f}s"

    return Listing(
        kind="Timeline",
        items=events,
        columns=(
            Column("TIME", lambda event: format_time(parse_time(event["time"]))),
            Column("AFTER", after),
            Column("EVENT", lambda event: event["event"]),
            Column("WORKER", lambda event: event["worker"] or "-"),
            Column("MESSAGE", lambda event: event["message"] or "-"),
        ),
        name=lambda _event: workload_name(answer),
        empty="nothing is known to have happened",
        more={key: answer[key] for key in ("source", "namespace", "name", "journalProblem")},
        key=lambda event: (event["time"], event["event"], event["worker"]),
    )
