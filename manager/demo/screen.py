"""Shows the demo on a terminal: a column for each worker, the hub below them, what happened last, and the keys."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from rich.console import Console, Group, RenderableType
from rich.layout import Layout
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from config.api.meta import NANOSECONDS
from manager.demo import cast
from manager.demo.frame import Frame, frame_of, without_dates
from manager.demo.picture import Bar, CopyState, HubPicture, WorkerPicture
from manager.demo.playbill import LogLine, Playbill, Sort
from manager.demo.script import ACTS, OPEN_MARK
from manager.demo.sightings import JobPhase

LEAST_WIDTH: Final = 80
LEAST_HEIGHT: Final = 24
_FRAMES_PER_SECOND: Final = 8
_WORKER_ROWS: Final = 8
_HUB_ROWS: Final = 5
_HEAD_ROWS: Final = 4
_FOOT_ROWS: Final = 2
_BORDERS: Final = 4
"""The columns of a panel that its text cannot have."""
_PHASES: Final = {
    JobPhase.RUNNING: ("green", "running"),
    JobPhase.STOPPING: ("yellow", "told to stop"),
    JobPhase.WAITING: ("bright_black", "waiting"),
    JobPhase.ENDED: ("bright_black", "ended"),
}
_AT_RISK: Final = ("bold yellow", "would stop")
_COPIES: Final = {
    CopyState.SENT: ("white", "waiting"),
    CopyState.ASKS: ("cyan", "gate closed"),
    CopyState.OPEN: ("bold magenta", "GATE OPEN"),
    CopyState.ADMITTED: ("bold green", "won, starts"),
    CopyState.RUNNING: ("bold green", "won, running"),
}
_SORTS: Final = {Sort.ACT: "bold cyan", Sort.FACT: "yellow", Sort.SEEN: ""}
_LEGEND: Final = (("low priority", "green"), ("told to stop", "yellow"), ("urgent", "bold magenta"))


def fits(console: Console) -> bool:
    """Return whether the screen can be drawn on this console."""
    usable = console.is_terminal and not console.is_dumb_terminal
    return usable and console.width >= LEAST_WIDTH and console.height >= LEAST_HEIGHT


class DemoScreen:
    """Draws several times a second what the clusters hold then."""

    def __init__(self, playbill: Playbill, console: Console, kubeconfig: str) -> None:
        self._playbill = playbill
        self._console = console
        self._kubeconfig = kubeconfig

    async def run(self) -> None:
        """Draw until cancelled, then give the terminal back as it was."""
        shown = frame_of(self._playbill, self._kubeconfig)
        with Live(self._drawn(shown), console=self._console, screen=True, auto_refresh=False) as live:
            while True:
                await asyncio.sleep(1 / _FRAMES_PER_SECOND)
                if self._playbill.pace.is_held:  # so that it can be read
                    shown = replace(shown, is_held=True)
                else:
                    shown = frame_of(self._playbill, self._kubeconfig)
                live.update(self._drawn(shown), refresh=True)

    def _drawn(self, frame: Frame) -> RenderableType:
        return draw(frame, self._console.width, self._console.height)


def draw(frame: Frame, width: int, height: int) -> RenderableType:
    """Return a picture of a terminal of that size."""
    rows = max(1, height - _HEAD_ROWS - _WORKER_ROWS - _HUB_ROWS - _FOOT_ROWS)
    layout = Layout()
    layout.split_column(
        Layout(_head(frame), size=_HEAD_ROWS),
        Layout(_workers(frame), size=_WORKER_ROWS),
        Layout(_hub(frame.hub, width), size=_HUB_ROWS),
        Layout(Group(*(_log_text(line) for line in frame.lines[-rows:]))),
        Layout(_foot(frame), size=_FOOT_ROWS),
    )
    return layout


def _head(frame: Frame) -> RenderableType:
    act = frame.act
    title = Text.assemble((" turnstile demo ", "bold reverse"), (f"  {frame.seconds:.0f} s", "bright_black"))
    if frame.is_held:
        title.append("  held: space goes on", style="bold yellow")
    elif frame.next_act_seconds is not None:
        title.append(f"  next act in {frame.next_act_seconds:.0f} s, or now with n", style="bold yellow")
    if act is None:
        return Group(title, Text("starting one hub and three workers …"))
    return Group(title, Text(f"Act {act.number} of {len(ACTS)}: {act.title}", "bold cyan"), Text(act.explanation))


def _workers(frame: Frame) -> RenderableType:
    grid = Table.grid(expand=True)
    for _ in cast.WORKERS:
        grid.add_column(ratio=1)
    grid.add_row(*(_worker_panel(name, frame.workers.get(name)) for name in cast.WORKERS))
    return grid


def _worker_panel(name: str, picture: WorkerPicture | None) -> Panel:
    rows: list[RenderableType] = [] if picture is None else list(_worker_rows(picture))
    is_open = picture is not None and any(copy.state is CopyState.OPEN for copy in picture.copies)
    return Panel(
        Group(*rows),
        title=name,
        title_align="left",
        subtitle=f"{picture.victims} preempted" if picture is not None and picture.victims else None,
        subtitle_align="right",
        border_style="bold magenta" if is_open else "blue",
        height=_WORKER_ROWS,
    )


def _worker_rows(picture: WorkerPicture) -> Iterator[RenderableType]:
    yield _bar(picture.bar)
    for job in picture.jobs:
        style, word = _AT_RISK if job.at_risk else _PHASES[job.phase]
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


def _hub(picture: HubPicture, width: int) -> RenderableType:
    text = Text(picture.job or "no job submitted", style="bold" if picture.job else "bright_black")
    if picture.state:
        text.append(f"  {picture.state}", style="not bold cyan")
    if picture.message:
        text.append(f"  {without_dates(picture.message)}", style="not bold default")
    return Panel(_cut(text, width - _BORDERS, _HUB_ROWS - 2), title="hub", title_align="left", border_style="blue")


def _cut(text: Text, width: int, rows: int) -> Text:
    """Return as much of a text as fits, with a mark where something is missing."""
    lines = text.wrap(Console(width=width), width)
    if len(lines) <= rows:
        return text
    last = lines[rows - 1]
    last.rstrip()
    last.truncate(width - 2)
    return Text("\n").join([*lines[: rows - 1], last.append(" …")])


def _foot(frame: Frame) -> RenderableType:
    keys = Text.assemble(("space", "bold"), " hold  ", ("n", "bold"), " next act  ", ("q", "bold"), " quit   ")
    for name, style in _LEGEND:
        keys.append("■ ", style=style).append(f"{name}  ")
    where = Text(f"kubectl --kubeconfig {frame.kubeconfig} get workloads", "bright_black")
    return Group(keys, where) if frame.kubeconfig else keys


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
