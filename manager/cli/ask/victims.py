"""`turnstile timeline --victims`: who was preempted for whom, from the daemon's journal or from a file."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Final

import typer

from config.api.meta import Obj
from config.types.duration import DurationError, parse_duration
from manager.cli.ask.listings import workload_name
from manager.cli.conventions.completion import complete_worker
from manager.cli.conventions.errors import BadInputError, NoAnswerError, refusing
from manager.cli.conventions.options import DaemonOptions
from manager.cli.conventions.output import TableColumn, TableView
from manager.cli.conventions.terminal import Tone

_DEFAULT_SINCE: Final = "24h"
_LONGEST_SINCE: Final = timedelta(days=3650)
_MOST_ANSWERS: Final = 20
"""How often a daemon is asked to go on for one list; each time it looks through some thousand decisions."""


@dataclass(frozen=True, slots=True)
class VictimOptions:
    """Which preempted workloads to list, instead of what happened to one Workload."""

    victims: Annotated[
        bool,
        typer.Option(
            "--victims",
            help="List the workloads that were preempted: those of the namespace, or the one that is named.",
        ),
    ] = False
    since: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION",
            help=f"With --victims: how far to look back, such as 90m or 24h; {_DEFAULT_SINCE} by default.",
        ),
    ] = None
    worker: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="With --victims: only those of this worker.", autocompletion=complete_worker),
    ] = None


@dataclass(frozen=True, slots=True)
class VictimQuestion:
    """Whose preemptions are asked for; an empty field leaves it open."""

    namespace: str
    name: str
    worker: str
    seconds: int


def seconds_of(since: str | None) -> int:
    """Return how far to look back; raises `BadInputError`."""
    text = since if since is not None else _DEFAULT_SINCE
    try:
        found = parse_duration(text)
    except DurationError as error:
        raise BadInputError(f'--since "{text}" is not allowed: {error}') from None
    if not timedelta(seconds=1) <= found <= _LONGEST_SINCE:
        raise BadInputError(f'--since "{text}" is not allowed: must be from 1s to {_LONGEST_SINCE.days * 24}h')
    return int(found.total_seconds())


def daemon_reader(connection: DaemonOptions, question: VictimQuestion) -> Callable[[], Obj]:
    """Return a reader that asks the daemon; only it knows who was preempted, so the hub is not asked instead."""
    from manager.cli.conventions.daemon import NoDaemonError, daemon_of

    daemon = daemon_of(connection)
    query = {"namespace": question.namespace, "name": question.name, "worker": question.worker}
    query = {key: value for key, value in query.items() if value} | {"sinceSeconds": str(question.seconds)}

    def read() -> Obj:
        found: dict[tuple[str, str, str], Obj] = {}
        place, now = "", ""
        for _ in range(_MOST_ANSWERS):
            try:
                answer = daemon.ask("victims", query={**query, **({"continue": place} if place else {})})
            except NoDaemonError as error:
                raise NoAnswerError(f"{error}; --journal FILE reads a journal without a daemon") from None
            if answer["journalProblem"]:
                raise NoAnswerError(f"the daemon cannot tell who was preempted: {answer['journalProblem']}")
            _merge(found, answer["victims"])
            place, now = answer["continue"], answer["now"]
            if not place:
                break
        return {"source": "daemon", "now": now, "victims": _sorted(found), "continue": place}

    return read


def journal_reader(journal: Path, question: VictimQuestion, most: int, now_ns: int) -> Callable[[], Obj]:
    """Return a reader of a journal that needs no daemon; raises `BadInputError` if it cannot be used."""
    from config.api.meta import NANOSECONDS, format_time
    from gates.reports.victims import VictimFilter
    from manager.journal.reader import blamed_on
    from manager.journal.schema import JournalError
    from manager.journal.victims import VictimQuery, victims_document

    wanted = VictimFilter(question.namespace, question.name, question.worker)
    query = VictimQuery(wanted, now_ns - question.seconds * NANOSECONDS)

    def read() -> Obj:
        with refusing(JournalError), blamed_on(journal):
            found = victims_document(journal, query, most=most)
        if found["journalProblem"]:
            raise BadInputError(found["journalProblem"])
        return {"source": "journal", "now": format_time(now_ns), **found}

    return read


def victim_listing(answer: Obj, *, has_namespaces: bool) -> TableView:
    """Return the list that an answer holds."""
    namespace = [TableColumn("NAMESPACE", lambda each: each["namespace"])] if has_namespaces else []
    return TableView(
        kind="VictimList",
        items=answer["victims"],
        columns=(
            TableColumn("TIME", lambda each: each["time"]),
            TableColumn("WORKER", lambda each: each["worker"]),
            *namespace,
            TableColumn("VICTIM", lambda each: each["name"]),
            TableColumn("PREEMPTOR", lambda each: each["preemptor"]),
            TableColumn("REASON", lambda each: each["reason"]),
            TableColumn("FORECAST", lambda each: _FORECAST[each["forecast"]]),
            TableColumn("RESULT", lambda each: each["result"] or "-", tone=lambda each: _TONES.get(each["result"])),
        ),
        name=workload_name,
        empty="no workload was preempted for a Workload of this hub in that time",
        more={"source": answer["source"], "asOf": answer["now"]},
        key=_key,
    )


def _merge(found: dict[tuple[str, str, str], Obj], victims: list[Obj]) -> None:
    """Add what a further answer says: it is about older decisions, which know better when a victim was preempted."""
    for victim in victims:
        known = found.get(_key(victim))
        later = {} if known is None else {"forecast": known["forecast"], "result": known["result"]}
        found[_key(victim)] = {**victim, **later}


def _key(victim: Obj) -> tuple[str, str, str]:
    return victim["worker"], victim["uid"], victim["preemptorUID"]


def _sorted(found: dict[tuple[str, str, str], Obj]) -> list[Obj]:
    return sorted(found.values(), key=lambda victim: (victim["time"], *_key(victim)))


_FORECAST: Final = {True: "yes", False: "no", None: "-"}
_TONES: Final = {"exact": Tone.GOOD, "wrong": Tone.BAD}
