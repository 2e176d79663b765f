"""The cells of the live view: quota bars, lanes and moments, as short texts with a tone.

Pure. Every text that a cluster may have chosen is made printable here, so that none reaches the terminal as it is.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from config.api.meta import NANOSECONDS, Obj, parse_time
from config.types.syntax import printable
from manager.cli.conventions.ages import span
from manager.cli.conventions.terminal import Tone

BAR_WIDTH: Final = 8
_FULL: Final = "█"
_EMPTY: Final = "░"
_ELLIPSIS: Final = "…"
_HIGH: Final = 0.9
_LONGEST_RESOURCE: Final = 8
_REPLICA_WORDS: Final = {
    "Missing": ("-", None),
    "Unreachable": ("away", Tone.BAD),
    "NotSynced": ("not read", Tone.DOUBTFUL),
    "Problem": ("unreadable", Tone.BAD),
    "Foreign": ("foreign", Tone.BAD),
    "QuotaReserved": ("reserved", Tone.GOOD),
    "Admitted": ("admitted", Tone.GOOD),
    "Evicted": ("evicted", Tone.DOUBTFUL),
    "Finished": ("finished", None),
}
_VERDICTS: Final = {"Fits": " fits", "Cannot": " ×", "Unsupported": " ?", "Ambiguous": " ?"}


@dataclass(frozen=True, slots=True)
class TopCell:
    """A short text, and what its colour says."""

    text: str
    tone: Tone | None = None


def plain(text: object, tone: Tone | None = None) -> TopCell:
    """Return a text from a document as a cell; `-` for one that is empty."""
    return TopCell(printable(str(text)) if text not in ("", None) else "-", tone)


def cut(text: str, width: int) -> str:
    """Shorten a text to a width."""
    return text if len(text) <= width else text[: max(0, width - 1)] + _ELLIPSIS


def bar(share: float | None) -> str:
    """Draw the part of a quota that is used; more than all of it is drawn as all of it."""
    if share is None:
        return " " * BAR_WIDTH
    filled = min(BAR_WIDTH, max(0, round(share * BAR_WIDTH)))
    if share > 0:
        filled = max(1, filled)
    return _FULL * filled + _EMPTY * (BAR_WIDTH - filled)


def short_resource(resource: str) -> str:
    """Name a resource in few characters: `nvidia.com/gpu` is gpu."""
    return cut(printable(resource).rpartition("/")[2], _LONGEST_RESOURCE)


def quota_tone(shares: Sequence[float | None]) -> Tone | None:
    """Return what the fullest of several quotas says."""
    fullest = max((share for share in shares if share is not None), default=0.0)
    return Tone.BAD if fullest > 1 else Tone.DOUBTFUL if fullest >= _HIGH else None


def quota_segment(entry: Obj) -> str:
    """Return bar and numbers of one resource."""
    amounts = printable(f"{entry['used']}/{entry['nominal']}")
    return f"{short_resource(entry['resource'])} {bar(entry['share'])} {amounts}"


def lane_cell(lane: Obj, now_ns: int) -> TopCell:
    """Say in a few characters what a Workload does on one worker: replica, gate with countdown, forecast."""
    if lane["won"]:
        return TopCell("RUNS", Tone.GOOD)
    if lane["state"] in _REPLICA_WORDS:
        word, tone = _REPLICA_WORDS[lane["state"]]
        return TopCell(word, tone)
    forecast = _forecast(lane)
    match lane["gate"]:
        case "Open":
            left = seconds_left(lane["windowEnds"], now_ns)
            return TopCell((f"OPEN {countdown(left)}" if left > 0 else "open") + forecast, Tone.STRONG)
        case "Asked":
            return TopCell(f"asks{forecast}", Tone.DOUBTFUL)
        case "Closed":
            return TopCell(f"closed{forecast}")
        case _:
            return TopCell(f"no gate{forecast}")


def lanes_cell(lanes: Sequence[Obj], more: int, now_ns: int, width: int) -> TopCell:
    """Say the same of all workers in one cell, those first on which something happens."""
    busy = sorted((lane for lane in lanes if lane["state"] != "Missing"), key=_eagerness)
    cells = [(printable(lane["worker"]), lane_cell(lane, now_ns)) for lane in busy]
    shown: list[str] = []
    used = 0
    for name, cell in cells:
        part = f"{name} {cell.text}"
        if shown and used + len(part) + 2 > width - 5:
            break
        shown.append(part)
        used += len(part) + 2
    left = len(cells) - len(shown) + more
    text = ", ".join(shown) + (f" +{left}" if left and shown else "")
    return TopCell(text or "-", cells[0][1].tone if cells else None)


def countdown(seconds: int) -> str:
    """Write the time that is left in few characters: 22s, 4:48, 3h20m."""
    if seconds < 60:
        return f"{seconds}s"
    return f"{seconds // 60}:{seconds % 60:02}" if seconds < 3600 else span(seconds)


def seconds_left(moment: str, now_ns: int) -> int:
    """Return the seconds until a moment, rounded up; 0 if it is over or not known."""
    return max(0, -((now_ns - parse_time(moment)) // NANOSECONDS)) if moment else 0


def _forecast(lane: Obj) -> str:
    if lane["verdict"] == "Preempts":
        return f" {lane['victims']}v"
    return _VERDICTS.get(lane["verdict"], "")


def _eagerness(lane: Obj) -> int:
    order = (
        lane["won"],
        lane["gate"] == "Open",
        lane["state"] in ("Admitted", "QuotaReserved"),
        lane["gate"] == "Asked",
    )
    return next((place for place, holds in enumerate(order) if holds), len(order))
