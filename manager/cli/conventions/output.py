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


@dataclass(frozen=True, slots=True)
class Report:
    """One thing, told on a screen."""

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
                return result.lines(screen, is_wide)
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
    """Write JSON for programs that people may look at; non-ASCII characters are escaped."""
    import json

    return json.dumps(document, indent=2)


def as_yaml(document: object) -> str:
    """Write YAML; non-ASCII characters are escaped here too."""
    import yaml

    return str(yaml.safe_dump(document, sort_keys=False, width=1000)).rstrip("\n")


def table(
    columns: Sequence[TableColumn], items: Iterable[Obj], screen: TerminalScreen, *, is_wide: bool = False
) -> list[str]:
    """Return the lines of a table; on a terminal, the last column is cut to the line unless more was asked for."""
    return Table(columns, screen, is_wide=is_wide).lines(items)


class Table:
    """A table that may grow: later rows stand under the same heads, whose columns only become wider."""

    def __init__(self, columns: Sequence[TableColumn], screen: TerminalScreen, *, is_wide: bool = False) -> None:
        self._columns = [column for column in columns if is_wide or not column.is_wide]
        self._screen = screen
        self._is_wide = is_wide
        self._widths = [len(column.head) for column in self._columns]

    def lines(self, items: Iterable[Obj], *, has_head: bool = True) -> list[str]:
        """Return the lines of these items."""
        rows = [([printable(str(column.cell(item))) for column in self._columns], item) for item in items]
        for cells, _ in rows:
            self._widths = [max(width, len(cell)) for width, cell in zip(self._widths, cells, strict=True)]
        head = [column.head for column in self._columns]
        lines = [self._line(head, [Tone.STRONG] * len(head))] if has_head else []
        return lines + [self._line(cells, [column.tone(item) for column in self._columns]) for cells, item in rows]

    def _line(self, cells: Sequence[str], tones: Sequence[Tone | None]) -> str:
        *first, last = cells
        taken = sum(width + 2 for width in self._widths[: len(first)])
        shown = [
            self._screen.paint(cell.ljust(width), tone)
            for cell, width, tone in zip(first, self._widths, tones, strict=False)
        ]
        tail = last if self._is_wide else self._screen.cut(last, taken)
        return "  ".join([*shown, self._screen.paint(tail, tones[-1])]).rstrip()
