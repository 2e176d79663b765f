"""How results are printed: as a table for people, as a document for programs, as names for pipelines.

Documents have an apiVersion and a kind; a list keeps its entries under `items`. docs/cli.md describes each kind.
Everything that a person reads is made printable here, so that no text from a cluster moves a cursor.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, assert_never

import typer

from config.api.meta import Obj
from config.names import DOMAIN
from config.types.syntax import printable
from manager.cli.conventions.options import Form
from manager.cli.conventions.terminal import TerminalScreen, Tone, screen_of
from manager.cli.display.fitting import GAP, ColumnNeed, Priority, cells, fit, padded, shortened, wrapped

API_VERSION: Final = f"cli.{DOMAIN}/v1alpha2"


def _no_tone(_item: Obj) -> Tone | None:
    return None


@dataclass(frozen=True, slots=True)
class TableColumn:
    """One column of a table."""

    head: str
    cell: Callable[[Obj], object]
    is_wide: bool = False
    """Whether it is shown by `-o wide` alone."""
    tone: Callable[[Obj], Tone | None] = _no_tone
    priority: Priority = Priority.USEFUL
    """How long it is kept on a narrow terminal."""


@dataclass(frozen=True, slots=True)
class TableView:
    """Many things of a kind."""

    kind: str
    """Of the document, such as `WorkerList`."""
    items: Sequence[Obj]
    columns: Sequence[TableColumn]
    name: Callable[[Obj], str]
    """Returns what `-o name` prints, such as `workload.kueue.x-k8s.io/wl`."""
    empty: str
    """The sentence for people when there is nothing to list."""
    more: Obj = field(default_factory=dict)
    """What the document says besides its items."""
    key: Callable[[Obj], object] | None = None
    """Tells items apart where names do not, for --watch."""
    gone: Callable[[Obj], str] | None = None
    """Returns what --watch says about an item that is no longer listed; by default its name, and `gone`."""


@dataclass(frozen=True, slots=True)
class Report:
    """One thing, shown on a screen."""

    kind: str
    body: Obj
    """The document, without apiVersion and kind."""
    lines: Callable[[TerminalScreen, bool], Iterable[str]]
    """Returns the screen; the second argument asks for more, as `-o wide` does. Texts must be printable already."""
    names: Sequence[str]
    state: object = None
    """What has to change for --watch to print the report again; without it the body."""


def show(result: TableView | Report, form: Form, screen: TerminalScreen | None = None) -> None:
    """Print a result on standard output; that there is nothing to list is said on standard error."""
    to = screen or screen_of()
    if isinstance(result, TableView) and not result.items and form in (Form.TABLE, Form.WIDE):
        typer.echo(result.empty, err=True)
        return
    for line in rendered(result, form, to):
        typer.echo(line)


def rendered(result: TableView | Report, form: Form, screen: TerminalScreen) -> Iterable[str]:
    """Return the lines of a result."""
    match form:
        case Form.NAME:
            names = map(result.name, result.items) if isinstance(result, TableView) else result.names
            return [printable(name) for name in dict.fromkeys(names)]
        case Form.JSON:
            return [as_json(document_of(result))]
        case Form.YAML:
            return [as_yaml(document_of(result))]
        case Form.TABLE | Form.WIDE:
            is_wide = form is Form.WIDE
            if isinstance(result, Report):
                lines = result.lines(screen, is_wide)
                width = None if is_wide else screen.width
                return lines if width is None else [part for line in lines for part in wrapped(line, width)]
            return table(result.columns, result.items, screen, is_wide=is_wide)
        case _:
            assert_never(form)


def document_of(result: TableView | Report) -> Obj:
    """Return the document of a result."""
    head = {"apiVersion": API_VERSION, "kind": result.kind}
    if isinstance(result, Report):
        return {**head, **result.body}
    return {**head, **result.more, "items": list(result.items)}


def as_json(document: object) -> str:
    """Write JSON for programs that people may read; non-ASCII characters are escaped."""
    import json

    return json.dumps(document, indent=2)


def as_yaml(document: object) -> str:
    """Write YAML; non-ASCII characters are escaped here too."""
    import yaml

    return str(yaml.safe_dump(document, sort_keys=False, width=1000)).rstrip("\n")


def table(
    columns: Sequence[TableColumn], items: Iterable[Obj], screen: TerminalScreen, *, is_wide: bool = False
) -> list[str]:
    """Return the lines of a table; on a terminal it fits into the line, unless `-o wide` asks for everything."""
    return Table(columns, screen, is_wide=is_wide).lines(items)


class Table:
    """A table that may grow: later rows stand under the same heads, whose columns only become wider.

    The cells of later rows are those of later `columns`, which know a later time.
    """

    def __init__(self, columns: Sequence[TableColumn], screen: TerminalScreen, *, is_wide: bool = False) -> None:
        self._columns = [column for column in columns if is_wide or not column.is_wide]
        self._screen = screen
        self._is_wide = is_wide
        self._limit = None if is_wide else screen.width
        self._widths = [len(column.head) for column in self._columns]

    def lines(
        self, items: Iterable[Obj], *, has_head: bool = True, columns: Sequence[TableColumn] | None = None
    ) -> list[str]:
        """Return the lines of these items."""
        if columns is not None:
            self._columns = [column for column in columns if self._is_wide or not column.is_wide]
        rows = [([printable(str(column.cell(item))) for column in self._columns], item) for item in items]
        for row, _ in rows:
            self._widths = [max(width, cells(cell)) for width, cell in zip(self._widths, row, strict=True)]
        needs = [
            ColumnNeed(len(column.head), width, column.priority)
            for column, width in zip(self._columns, self._widths, strict=True)
        ]
        fitted = fit(needs, self._limit)
        head = [column.head for column in self._columns]
        lines = [self._line(head, [Tone.STRONG] * len(head), fitted)] if has_head else []
        return lines + [self._line(row, [column.tone(item) for column in self._columns], fitted) for row, item in rows]

    def _line(self, row: Sequence[str], tones: Sequence[Tone | None], widths: Sequence[int | None]) -> str:
        shown = [
            (shortened(cell, width), tone, width)
            for cell, tone, width in zip(row, tones, widths, strict=True)
            if width is not None
        ]
        *first, last = shown
        parts = [self._screen.paint(padded(cell, width), tone) for cell, tone, width in first]
        return (" " * GAP).join([*parts, self._screen.paint(last[0], last[1])]).rstrip()
