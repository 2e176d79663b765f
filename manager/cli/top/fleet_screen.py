"""The screen of the whole fleet: three panels, the lines around them, and a filter."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, Final

from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import Screen
from textual.widgets import DataTable, Input, Static

from manager.cli.conventions.terminal import Tone
from manager.cli.top import head
from manager.cli.top.cells import TopCell, cut
from manager.cli.top.panels import DECISIONS, WORKERS, WORKLOADS, Panel, panels_of
from manager.cli.top.source import ORDERS, FleetAnswer, FleetQuestion
from manager.cli.top.tables import FleetTable, line_of

_LONGEST_FILTER: Final = 253
_TALL: Final = 20


@dataclass(frozen=True, slots=True)
class FleetState:
    """Everything that is drawn."""

    answer: FleetAnswer
    question: FleetQuestion
    namespace: str | None
    """The only one that is shown; None for all."""
    now_ns: int
    age_seconds: int = 0
    failure: str = ""
    is_paused: bool = False


class FleetScreen(Screen[None]):
    """Draws states; what a key asks for is passed on."""

    CSS = """
    #head { height: 2; background: $panel; }
    #about, #keys, .title { height: 1; }
    #small, #filter { display: none; }
    #filter { height: 1; border: none; padding: 0; }
    .title { color: $text-accent; text-style: bold; }
    FleetTable { scrollbar-size-horizontal: 0; scrollbar-size-vertical: 1; }
    FleetTable > .datatable--cursor { background: $surface; text-style: none; }
    FleetTable:focus > .datatable--cursor { background: $primary-muted; text-style: bold; }
    #workloads { height: 1fr; }
    #keys { background: $panel; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "filter"),
        Binding("s", "order"),
        Binding("escape", "clear_filter"),
    ]

    def __init__(
        self,
        state: FleetState,
        on_question: Callable[[FleetQuestion], None],
        on_open: Callable[[str, tuple[str, str]], None],
    ) -> None:
        super().__init__()
        self._state = state
        self._on_question = on_question
        self._on_open = on_open

    def compose(self) -> ComposeResult:
        """Lay out the screen."""
        yield Static(id="small", markup=False)
        with Vertical(id="fleet"):
            yield Static(id="head")
            for panel in (WORKERS, WORKLOADS, DECISIONS):
                yield Static(id=f"{panel}-title", classes="title")
                yield FleetTable(panel)
            yield Static(id="about")
            yield Input(id="filter", placeholder="a part of NAMESPACE/NAME", max_length=_LONGEST_FILTER)
            yield Static(id="keys", markup=False)

    def on_mount(self) -> None:
        """Begin in the panel of Workloads."""
        self.query_one(f"#{WORKLOADS}", FleetTable).focus()
        self.draw(self._state)

    def on_resize(self, _event: events.Resize) -> None:
        """Choose other columns and heights."""
        self.draw(self._state)

    def draw(self, state: FleetState) -> None:
        """Draw a state."""
        self._state = state
        if not self.query("#keys"):
            return  # it is not laid out yet
        width, height = self.app.size
        problem = head.too_small(width, height)
        self.query_one("#small", Static).update(problem)
        self.query_one("#small").display = bool(problem)
        self.query_one("#fleet").display = not problem
        if problem:
            return
        for name in (f"#{DECISIONS}-title", f"#{DECISIONS}"):
            self.query_one(name).display = height >= _TALL
        self._draw_head(state, width)
        panels = panels_of(state.answer.document, state.now_ns, width, has_namespaces=state.namespace is None)
        for name, panel in panels.items():
            title = cut(f"{panel.title}  {_remark(state, name, panel)}".rstrip(), width)
            self.query_one(f"#{name}-title", Static).update(Text(title, no_wrap=True))
            self.query_one(f"#{name}", FleetTable).show(panel)
        self._size_panels(panels, height)
        self.draw_foot()

    def _draw_head(self, state: FleetState, width: int) -> None:
        document, is_stale = state.answer.document, bool(state.failure)
        first = line_of(head.title_line(document))
        second = line_of(
            head.data_line(document, state.now_ns, state.age_seconds, is_paused=state.is_paused, is_stale=is_stale)
        )
        for line in (first, second):
            line.truncate(width, overflow="ellipsis")
        self.query_one("#head", Static).update(Text("\n").join((first, second)))

    def _size_panels(self, panels: dict[str, Panel], height: int) -> None:
        for name, most in ((WORKERS, height // 3), (DECISIONS, height // 4)):
            rows = len(panels[name].rows)
            self.query_one(f"#{name}", FleetTable).styles.height = max(1, min(rows + 1, most))

    @on(DataTable.RowHighlighted)
    def draw_foot(self) -> None:
        """Say what failed, or else what there is to say about the selected row."""
        width, state = self.app.size.width, self._state
        focused = self.focused
        row = focused.selected if isinstance(focused, FleetTable) else None
        about = row.about if row is not None else ""
        cell = TopCell(state.failure, Tone.BAD) if state.failure else TopCell(about)
        line = line_of([cell])
        line.truncate(width, overflow="ellipsis")
        self.query_one("#about", Static).update(line)
        self.query_one("#keys", Static).update(head.keys_line(head.KEYS, width))

    def on_descendant_focus(self) -> None:
        """Say something about the row of the panel that is chosen now."""
        self.draw_foot()

    # --- keys

    def action_filter(self) -> None:
        """Ask for a part of the names to show."""
        box = self.query_one("#filter", Input)
        box.value = self._state.question.contains
        box.display = True
        box.focus()

    @on(Input.Submitted)
    def filter_given(self, given: Input.Submitted) -> None:
        """Show only what the filter names."""
        self._close_filter()
        self._on_question(replace(self._state.question, contains=given.value.strip()))

    def action_clear_filter(self) -> None:
        """Leave the filter; show everything again."""
        self._close_filter()
        if self._state.question.contains:
            self._on_question(replace(self._state.question, contains=""))

    def _close_filter(self) -> None:
        self.query_one("#filter", Input).display = False
        self.query_one(f"#{WORKLOADS}", FleetTable).focus()

    def action_order(self) -> None:
        """Order the Workloads in the next way."""
        order = ORDERS[(ORDERS.index(self._state.question.order) + 1) % len(ORDERS)]
        self._on_question(replace(self._state.question, order=order))

    @on(DataTable.RowSelected)
    def row_chosen(self, chosen: DataTable.RowSelected) -> None:
        """Open what is selected."""
        panel = chosen.data_table
        if isinstance(panel, FleetTable) and panel.selected is not None:
            self._on_open(panel.id or "", panel.selected.key)


def _remark(state: FleetState, name: str, panel: Panel) -> str:
    """Say beside the title of a panel what its rows do not."""
    order = str(state.answer.document["workloads"]["order"])
    asked = head.question_words(state.namespace, order, state.question.contains) if name == WORKLOADS else ""
    if name == DECISIONS and state.answer.remark:
        return state.answer.remark
    return asked if panel.rows else "; ".join(part for part in (panel.empty, asked) if part)
