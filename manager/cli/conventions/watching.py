"""`--watch`: asks again every two seconds.

On a terminal the screen is drawn again in place, with the ages of that moment. Elsewhere what changed is printed:
tables grow by the rows that are new or different; documents are events, one a line as JSON (`type` ADDED, MODIFIED or
DELETED, and `object`). A daemon that stops answering on the way is waited for.
"""

import json
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Final

import typer

from config.api.meta import Obj
from config.types.syntax import printable
from manager.cli.conventions.errors import NoAnswerError
from manager.cli.conventions.options import Form
from manager.cli.conventions.output import Report, Table, TableView, as_yaml, document_of, rendered
from manager.cli.conventions.terminal import TerminalScreen, screen_of
from manager.cli.display.fitting import shortened, wrapped

SECONDS: Final = 2.0
_WIDTH, _HEIGHT = 80, 24
_SCREENS: Final = (Form.TABLE, Form.WIDE)
_Show = Callable[[TableView | Report | None, str], None]


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
        return [*self._rows(listing, [item for _, item in changed]), *(_gone(listing, item) for item in gone)]

    def _rows(self, listing: TableView, items: list[Obj]) -> list[str]:
        if not items:
            return []
        is_first = self._table is None
        self._table = self._table or Table(listing.columns, self._screen, is_wide=self._form is Form.WIDE)
        return self._table.lines(items, has_head=is_first, columns=listing.columns)

    def _events(self, events: Iterable[tuple[str, Obj]]) -> list[str]:
        documents: list[dict[str, Any]] = [{"type": kind, "object": item} for kind, item in events]
        if self._form is Form.JSON:
            return [json.dumps(document) for document in documents]
        return [f"---\n{as_yaml(document)}" for document in documents]


def _gone(listing: TableView, item: Obj) -> str:
    return printable(listing.gone(item) if listing.gone is not None else f"{listing.name(item)} gone")


class Redrawing:
    """Draws results over each other. What does not fit on the screen is left out, and said to be."""

    def __init__(self, form: Form, screen: Callable[[], TerminalScreen]) -> None:
        """`screen` is asked for each drawing, because a window may have been resized."""
        self._form = form
        self._screen_of = screen
        self._result: TableView | Report | None = None
        self._drawn = 0

    def text(self, result: TableView | Report | None, problem: str = "") -> str:
        """Return what draws a result over the last one; without one, the last stays, and a problem is told below."""
        self._result = result or self._result
        screen = self._screen_of()
        width, height = screen.width or _WIDTH, screen.height or _HEIGHT
        below = wrapped(printable(problem), width) if problem else []
        room = max(1, height - 1 - len(below))  # the cursor stands on the line after the last
        lines = self._lines(screen)
        if len(lines) > room:
            lines = [*lines[: room - 1], f"… and {len(lines) - room + 1} more lines; a pipe gets them all"[:width]]
        lines = [*lines, *below]
        over = f"\x1b[{min(self._drawn, height - 1)}A" if self._drawn else ""
        self._drawn = len(lines)
        return f"{over}\r\x1b[J" + "".join(f"{line}\n" for line in lines)

    def _lines(self, screen: TerminalScreen) -> list[str]:
        width = screen.width or _WIDTH
        if self._result is None:
            return []
        if isinstance(self._result, TableView) and not self._result.items:
            return wrapped(printable(self._result.empty), width)
        if self._form is Form.WIDE:  # a line that wraps cannot be drawn over, and one with colours cannot be cut
            screen = replace(screen, has_colours=False)
        return [shortened(line, width) for line in rendered(self._result, self._form, screen)]


def follow(
    fetch: Callable[[], TableView | Report],
    form: Form,
    wait: Callable[[], None] = rest,
    screen: Callable[[], TerminalScreen] = screen_of,
) -> None:
    """Show a result and then what changes, until Ctrl-C or until the reader of the output is gone."""
    to = screen()
    show_next = _drawn(form, screen) if to.height is not None and form in _SCREENS else _printed(form, to)
    was_told = False
    while True:
        try:
            result = fetch()
        except NoAnswerError as error:
            if not was_told:
                raise  # there was no answer yet to wait for again
            show_next(None, f"{error}; waiting")
        else:
            show_next(result, "")
            was_told = True
        wait()


def _drawn(form: Form, screen: Callable[[], TerminalScreen]) -> _Show:
    redrawing = Redrawing(form, screen)

    def show_next(result: TableView | Report | None, problem: str) -> None:
        typer.echo(redrawing.text(result, problem), nl=False)

    return show_next


def _printed(form: Form, to: TerminalScreen) -> _Show:
    follower = Follower(form, to)
    told = ""

    def show_next(result: TableView | Report | None, problem: str) -> None:
        nonlocal told
        if problem and not told:
            typer.echo(printable(problem), err=True)
        told = problem
        for line in follower.lines(result) if result is not None else ():
            typer.echo(line)

    return show_next
