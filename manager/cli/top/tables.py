"""Tables and lines as widgets: keeps the cursor on its row while rows come and go."""

from collections.abc import Sequence
from typing import ClassVar, Final

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.widgets import DataTable

from manager.cli.conventions.terminal import Tone
from manager.cli.top.cells import TopCell, cut
from manager.cli.top.panels import GAP, Panel, PanelRow

STYLES: Final = {Tone.GOOD: "green", Tone.DOUBTFUL: "yellow", Tone.BAD: "bold red", Tone.STRONG: "bold"}


def cell_text(cell: TopCell, width: int | None = None) -> Text:
    """Return a cell as text that is never read as markup."""
    shown = cell.text if width is None else cut(cell.text, width)
    return Text(shown, STYLES[cell.tone] if cell.tone is not None else "", no_wrap=True)


def line_of(cells: Sequence[TopCell]) -> Text:
    """Put cells beside each other."""
    return Text("  ").join(cell_text(cell) for cell in cells)


class FleetTable(DataTable[Text]):
    """One panel; a row is known by its key."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "cursor_down", show=False),
        Binding("k", "cursor_up", show=False),
        Binding("g", "scroll_top", show=False),
        Binding("G", "scroll_bottom", show=False),
    ]

    def __init__(self, name: str) -> None:
        super().__init__(id=name, cursor_type="row", cell_padding=GAP // 2, cursor_foreground_priority="renderable")
        self._panel: Panel | None = None

    @property
    def selected(self) -> PanelRow | None:
        """Return the row under the cursor."""
        rows = self._panel.rows if self._panel is not None else ()
        return rows[self.cursor_row] if 0 <= self.cursor_row < len(rows) else None

    def show(self, panel: Panel) -> None:
        """Show another state of the panel; the cursor stays on its row, or at its place if that has gone."""
        if panel == self._panel:
            return
        before, place, top = self.selected, self.cursor_row, self.scroll_y
        if self._panel is None or panel.columns != self._panel.columns:
            self.clear(columns=True)
            for column in panel.columns:
                self.add_column(Text(column.head, "bold", no_wrap=True), width=column.width)
        else:
            self.clear()
        self._panel = panel
        for row in panel.rows:
            sized = zip(row.cells, panel.columns, strict=True)
            self.add_row(*(cell_text(cell, column.width) for cell, column in sized))
        keys = [row.key for row in panel.rows]
        if before is not None and before.key in keys:
            place = keys.index(before.key)
        if keys:
            self.scroll_y = top
            self.move_cursor(row=min(max(0, place), len(keys) - 1), scroll=True)
