"""`--watch`: asks again every two seconds and prints what changed since.

Tables grow by the rows that are new or different; documents are events, one a line as JSON (`type` ADDED, MODIFIED or
DELETED, and `object`). A daemon that stops answering on the way is waited for.
"""

import json
import time
from collections.abc import Callable, Iterable
from typing import Any, Final

import typer

from config.api.meta import Obj
from config.types.syntax import printable
from manager.cli.conventions.errors import NoAnswerError
from manager.cli.conventions.options import Form
from manager.cli.conventions.output import Report, Table, TableView, as_yaml, document_of, rendered
from manager.cli.conventions.terminal import TerminalScreen, screen_of

SECONDS: Final = 2.0


def rest() -> None:
    """Wait until it is time to ask again."""
    time.sleep(SECONDS)


class Follower:
    """Prints results, and of later ones what changed."""

    def __init__(self, form: Form, screen: TerminalScreen | None = None) -> None:
        self._form = form
        self._screen = screen or screen_of()
        self._table: Table | None = None
        self._items: dict[object, Obj] = {}
        self._report: object = None

    def lines(self, result: TableView | Report) -> Iterable[str]:
        """Return what is new in a result."""
        return self._of_listing(result) if isinstance(result, TableView) else self._of_report(result)

    def _of_report(self, report: Report) -> Iterable[str]:
        state = report.state if report.state is not None else report.body
        if state == self._report:
            return []
        is_first, self._report = self._report is None, state
        if self._form is Form.JSON:
            return [json.dumps({"type": "ADDED" if is_first else "MODIFIED", "object": document_of(report)})]
        gap = [] if is_first or self._form is Form.NAME else ["---"] if self._form is Form.YAML else [""]
        return [*gap, *rendered(report, self._form, self._screen)]

    def _of_listing(self, listing: TableView) -> Iterable[str]:
        now = {(listing.key or listing.name)(item): item for item in listing.items}
        before, self._items = self._items, now
        changed = [(key, item) for key, item in now.items() if before.get(key) != item]
        gone = [item for key, item in before.items() if key not in now]
        if self._form in (Form.JSON, Form.YAML):
            events = [("MODIFIED" if key in before else "ADDED", item) for key, item in changed]
            return self._events([*events, *(("DELETED", item) for item in gone)])
        if self._form is Form.NAME:
            return [printable(listing.name(item)) for _, item in changed]
        return [*self._rows(listing, [item for _, item in changed]), *(f"{_told(listing, item)} gone" for item in gone)]

    def _rows(self, listing: TableView, items: list[Obj]) -> list[str]:
        if not items:
            return []
        is_first = self._table is None
        self._table = self._table or Table(listing.columns, self._screen, is_wide=self._form is Form.WIDE)
        return self._table.lines(items, has_head=is_first)

    def _events(self, events: Iterable[tuple[str, Obj]]) -> list[str]:
        documents: list[dict[str, Any]] = [{"type": kind, "object": item} for kind, item in events]
        if self._form is Form.JSON:
            return [json.dumps(document) for document in documents]
        return [f"---\n{as_yaml(document)}" for document in documents]


def _told(listing: TableView, item: Obj) -> str:
    return printable(listing.name(item))


def follow(
    fetch: Callable[[], TableView | Report],
    form: Form,
    wait: Callable[[], None] = rest,
    screen: TerminalScreen | None = None,
) -> None:
    """Print a result and then what changes, until Ctrl-C or until the reader of the output is gone."""
    follower = Follower(form, screen)
    is_silent, was_told = False, False
    while True:
        try:
            result = fetch()
            is_silent = False
        except NoAnswerError as error:
            if not was_told:
                raise  # there was no answer yet to wait for again
            if not is_silent:
                typer.echo(f"{printable(str(error))}; waiting", err=True)
            is_silent = True
        else:
            for line in follower.lines(result):
                typer.echo(line)
            was_told = True
        wait()
