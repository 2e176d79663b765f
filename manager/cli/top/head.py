"""The lines around the panels: who answers and how old that is, what the selected row says, which keys there are.

Pure.
"""

from typing import Final

from config.api.meta import Obj, format_time, parse_time
from config.types.syntax import printable
from manager.cli.conventions.ages import span
from manager.cli.conventions.terminal import Tone
from manager.cli.top.cells import TopCell, cut
from manager.cli.top.panels import panels_of

LEAST_WIDTH: Final = 60
LEAST_HEIGHT: Final = 15
KEYS: Final = (
    ("tab", "panel"),
    ("/", "filter"),
    ("s", "order"),
    ("enter", "open"),
    ("space", "pause"),
    ("?", "help"),
    ("q", "quit"),
)
DETAIL_KEYS: Final = (("esc", "back"), ("arrows", "scroll"), ("space", "pause"), ("q", "quit"))
HELP: Final = (
    "Keys",
    "  up, down, j, k  move; g, G to the first and last row",
    "  tab             next panel",
    "  enter, esc      open a Workload or a worker; back",
    "  /, esc          filter Workloads; show all again",
    "  s               order by queue, age or name",
    "  space, r        pause and go on; ask now",
    "  ?, q            this page; quit",
    "",
    "Lanes: a Workload on each worker",
    "  closed          waits, and may not preempt",
    "  asks            would have to preempt; waits for its gate",
    "  OPEN 22s        may preempt, no other worker for 22 s",
    "  open            its gate is open, its window is over",
    "  reserved        has quota, waits for checks there",
    "  RUNS            won: the job runs there",
    "  away            the worker cannot be reached",
    "  unreadable      its replica there cannot be read",
    "  fits 2v × ?     forecast: fits, 2 victims, cannot, unknown",
    "",
    "Quota is that of all ClusterQueues of a worker.",
)


def title_line(answer: Obj) -> list[TopCell]:
    """Say which hub this is, and who acts for it."""
    daemon = answer["daemon"]
    is_connected = daemon["hub"] == "Connected"
    return [
        TopCell("turnstile top", Tone.STRONG),
        TopCell(printable(f"{daemon['origin']} {daemon['hub']}"), Tone.GOOD if is_connected else Tone.BAD),
        _role(daemon),
        *([TopCell(f"policy {printable(daemon['policy'])}")] if daemon["policy"] else []),
        TopCell(printable(daemon["version"])),
    ]


def _role(daemon: Obj) -> TopCell:
    leader = printable(daemon["leader"])
    if daemon["isShadow"]:
        return TopCell("shadow mode", Tone.DOUBTFUL)
    if daemon["acts"]:
        return TopCell(f"leads as {leader}" if leader else "acts", Tone.GOOD)
    return TopCell(f"standby; {leader} leads" if leader else "standby; the leader is not known", Tone.DOUBTFUL)


def data_line(answer: Obj, now_ns: int, age_seconds: int, *, is_paused: bool, is_stale: bool) -> list[TopCell]:
    """Say how many Workloads there are, and from when that is."""
    phases = answer["workloads"]["phases"]
    counts = ", ".join(f"{count:,} {printable(phase)}" for phase, count in phases.items()) or "no Workloads"
    moment = f"{format_time(now_ns)[11:19]}Z"
    if is_paused:
        freshness = TopCell(f"PAUSED, {span(age_seconds)} old", Tone.DOUBTFUL)
    elif is_stale:
        freshness = TopCell(f"STALE, {span(age_seconds)} old", Tone.BAD)
    else:
        freshness = TopCell(f"{span(age_seconds)} old")
    return [TopCell(counts), TopCell(moment), freshness]


def question_words(namespace: str | None, order: str, contains: str) -> str:
    """Say which Workloads are shown, and in which order, for the title of their panel."""
    where = f"in {printable(namespace)}, " if namespace is not None else ""
    filtered = f", containing {printable(contains)!r}" if contains else ""
    return f"{where}ordered by {printable(order)}{filtered}"


def check_answer(answer: Obj) -> None:
    """Draw everything once; an answer of an unknown form raises one of many errors."""
    now_ns = parse_time(answer["now"])
    title_line(answer)
    data_line(answer, now_ns, 0, is_paused=False, is_stale=False)
    panels_of(answer, now_ns, LEAST_WIDTH, has_namespaces=True)


def keys_line(keys: tuple[tuple[str, str], ...], width: int) -> str:
    """List the keys."""
    return cut(" ".join(f"<{key}> {what}" for key, what in keys), width)


def too_small(width: int, height: int) -> str:
    """Say that the view cannot be drawn; empty if it can."""
    if width >= LEAST_WIDTH and height >= LEAST_HEIGHT:
        return ""
    return f"too small: {width}×{height}, needs {LEAST_WIDTH}×{LEAST_HEIGHT}"
