"""A screen of lines over the fleet: one Workload, one worker, or the keys."""

from collections.abc import Callable, Sequence
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import ScrollableContainer
from textual.screen import Screen
from textual.widgets import Static

from manager.cli.top.head import DETAIL_KEYS, keys_line


class DetailsScreen(Screen[None]):
    """Lines that are asked for again and again while they are shown; `tell` is None for lines that never change."""

    CSS = """
    #lines { height: 1fr; padding: 0 1; }
    #lines > Static { width: auto; }
    #problem { height: 1; display: none; }
    #detail-keys { height: 1; background: $panel; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "app.pop_screen"),
        Binding("j", "scroll(1)"),
        Binding("k", "scroll(-1)"),
    ]

    def __init__(
        self,
        lines: Sequence[str],
        tell: Callable[[], list[str]] | None = None,
        on_shown: Callable[[], None] | None = None,
    ) -> None:
        super().__init__()
        self.tell = tell
        self._first = lines
        self._on_shown = on_shown

    def compose(self) -> ComposeResult:
        """Lay out the screen."""
        with ScrollableContainer(id="lines"):
            yield Static(_text(self._first), id="text")
        yield Static(id="problem")
        yield Static(keys_line(DETAIL_KEYS, self.app.size.width), id="detail-keys", markup=False)

    def on_mount(self) -> None:
        """Have the lines asked for."""
        if self._on_shown is not None:
            self._on_shown()

    def show(self, lines: Sequence[str]) -> None:
        """Show other lines; they are printable already."""
        for text in self.query("#text").results(Static):  # none if the screen was left meanwhile
            text.update(_text(lines))

    def complain(self, problem: str) -> None:
        """Say why the lines are not those of now; an empty text says that they are."""
        for line in self.query("#problem").results(Static):  # none before the screen is laid out
            line.display = bool(problem)
            line.update(Text(problem, "bold red", no_wrap=True, overflow="ellipsis"))

    def action_scroll(self, lines: int) -> None:
        """Scroll by some lines."""
        self.query_one("#lines", ScrollableContainer).scroll_relative(y=lines, animate=False)


def _text(lines: Sequence[str]) -> Text:
    return Text("\n".join(lines), no_wrap=True)
