"""Shows the demo on a terminal: a column for each worker, the hub below them, and what happened last."""

import asyncio
import time
from collections.abc import Iterator
from typing import Final

from rich.console import Console, Group, RenderableType
from rich.layout import Layout
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from config.api.meta import NANOSECONDS
from manager.demo import cast
from manager.demo.picture import Bar, CopyState, HubPicture, WorkerPicture, hub_picture, worker_picture
from manager.demo.playbill import LogLine, Playbill, Sort
from manager.demo.script import ACTS, OPEN_MARK
from manager.demo.sightings import JobPhase

LEAST_WIDTH: Final = 80
LEAST_HEIGHT: Final = 24
_FRAMES_PER_SECOND: Final = 8
_WORKER_ROWS: Final = 8
_HUB_ROWS: Final = 5
_HEAD_ROWS: Final = 4
_PHASES: Final = {
    JobPhase.RUNNING: ("green", "running"),
    JobPhase.STOPPING: ("yellow", "told to stop"),
    JobPhase.WAITING: ("bright_black", "waiting"),
    JobPhase.ENDED: ("bright_black", "ended"),
}
_COPIES: Final = {
    CopyState.SENT: ("white", "waiting"),
    CopyState.ASKS: ("cyan", "gate closed"),
    CopyState.OPEN: ("bold magenta", "GATE OPEN"),
    CopyState.ADMITTED: ("bold green", "won, starts"),
    CopyState.RUNNING: ("bold green", "won, running"),
}
_SORTS: Final = {Sort.ACT: "bold cyan", Sort.FACT: "yellow", Sort.SEEN: ""}


def fits(console: Console) -> bool:
    """Tell whether the screen can be drawn on this console."""
    usable = console.is_terminal and not console.is_dumb_terminal
    return usable and console.width >= LEAST_WIDTH and console.height >= LEAST_HEIGHT


class DemoScreen:
    """Draws several times a second what the clusters hold then."""

    def __init__(self, playbill: Playbill, console: Console) -> None:
        self._playbill = playbill
        self._console = console

    async def run(self) -> None:
        """Draw until cancelled, then give the terminal back as it was."""
        with Live(self._draw(), console=self._console, screen=True, auto_refresh=False) as live:
            while True:
                await asyncio.sleep(1 / _FRAMES_PER_SECOND)
                live.update(self._draw(), refresh=True)

    def _draw(self) -> RenderableType:
        layout = Layout()
        layout.split_column(
            Layout(self._head(), size=_HEAD_ROWS),
            Layout(self._workers(), size=_WORKER_ROWS, name="workers"),
            Layout(self._hub(), size=_HUB_ROWS),
            Layout(self._log(), name="log"),
        )
        return layout

    def _head(self) -> RenderableType:
        act = self._playbill.act
        seconds = (f"  {self._playbill.seconds:.0f} s", "bright_black")
        title = Text.assemble((" turnstile demo ", "bold reverse"), seconds)
        if act is None:
            return Group(title, Text("starting one hub and three workers …"))
        return Group(title, Text(f"Act {act.number} of {len(ACTS)}: {act.title}", "bold cyan"), Text(act.explanation))

    def _workers(self) -> RenderableType:
        stage = self._playbill.stage
        grid = Table.grid(expand=True)
        panels: list[RenderableType] = []
        for name in cast.WORKERS:
            grid.add_column(ratio=1)
            picture = (
                None if stage is None else worker_picture(stage, name, self._playbill.first_sighting, time.time_ns())
            )
            panels.append(_worker_panel(name, picture))
        grid.add_row(*panels)
        return grid

    def _hub(self) -> RenderableType:
        stage = self._playbill.stage
        picture = HubPicture() if stage is None else hub_picture(stage)
        text = Text(picture.job or "no job submitted", style="bold" if picture.job else "bright_black")
        if picture.state:
            text.append(f"  {picture.state}", style="not bold cyan")
        if picture.message:
            text.append(f"  {picture.message}", style="not bold default")
        return Panel(text, title="hub", title_align="left", border_style="blue")

    def _log(self) -> RenderableType:
        rows = max(1, self._console.height - _HEAD_ROWS - _WORKER_ROWS - _HUB_ROWS)
        return Group(*(_log_text(line) for line in self._playbill.lines[-rows:]))


def _worker_panel(name: str, picture: WorkerPicture | None) -> Panel:
    rows: list[RenderableType] = [] if picture is None else list(_worker_rows(picture))
    is_open = picture is not None and any(copy.state is CopyState.OPEN for copy in picture.copies)
    title = name if picture is None or not picture.victims else f"{name} · {picture.victims} preempted"
    return Panel(
        Group(*rows),
        title=title,
        title_align="left",
        border_style="bold magenta" if is_open else "blue",
        height=_WORKER_ROWS,
    )


def _worker_rows(picture: WorkerPicture) -> Iterator[RenderableType]:
    yield _bar(picture.bar)
    for job in picture.jobs:
        style, word = _PHASES[job.phase]
        yield Text.assemble((f"{job.name:<9}", ""), (word, style), no_wrap=True)
    for copy in picture.copies:
        style, word = _COPIES[copy.state]
        left = f" {copy.left_ns / NANOSECONDS:.0f} s" if copy.left_ns is not None else ""
        yield Text.assemble((f"{copy.job:<9}", "bold"), (f"{word}{left}", style), no_wrap=True)


def _bar(bar: Bar) -> Text:
    text, left = Text("CPU ", no_wrap=True), cast.WORKER_CPUS
    for count, style in ((bar.low, "green"), (bar.stopping, "yellow"), (bar.urgent, "bold magenta")):
        text.append("██" * min(count, left), style=style)
        left -= min(count, left)
    text.append("··" * left, style="bright_black")
    return text


def _log_text(line: LogLine) -> Text:
    style = "bold magenta" if line.text.startswith(OPEN_MARK) else _SORTS[line.sort]
    place = f"{line.cluster:<9}" if line.cluster else ""
    return Text.assemble(
        (f"{line.seconds:5.1f} s  ", "bright_black"),
        (place, "bold"),
        (line.text, style),
        no_wrap=True,
        overflow="ellipsis",
    )
