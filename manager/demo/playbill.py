"""What is to be shown: the act, what was seen and said so far, and the clusters to look at. No terminal in here."""

import asyncio
import time
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from manager.demo.pace import Pace
from manager.demo.script import Act

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from manager.demo.stage import Stage


class Sort(StrEnum):
    """Where a line comes from."""

    ACT = "act"
    SEEN = "seen"
    FACT = "fact"


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line of the log."""

    sort: Sort
    seconds: float
    """Since the start."""
    text: str
    cluster: str = ""
    act: Act | None = None


class Playbill:
    """Collects lines; a presenter takes new ones at its own pace."""

    def __init__(self, pace: Pace) -> None:
        self._started = time.monotonic()
        self.pace = pace
        self.lines: list[LogLine] = []
        self.act: Act | None = None
        self.stage: Stage | None = None
        self.first_sighting = 0
        """Of the act, among those of the stage."""
        self.at_risk: Mapping[str, Sequence[str]] = {}
        """The jobs of each worker that would be preempted, while that is forecast."""
        self.comparisons: list[bool] = []
        """Of each time that a worker preempted: whether it was as forecast."""
        self.news = asyncio.Event()

    @property
    def seconds(self) -> float:
        """Return the time since the start."""
        return time.monotonic() - self._started

    def begin(self, act: Act, stage: "Stage") -> None:
        """Announce an act."""
        self.act, self.stage = act, stage
        self.first_sighting = len(stage.sightings)
        self._add(LogLine(Sort.ACT, self.seconds, act.title, act=act))

    def compare(self, worker: str, foretold: "Sequence[str]", preempted: "Sequence[str]") -> None:
        """Add whether a worker preempted the jobs that it was forecast to."""
        is_true = sorted(foretold) == sorted(preempted)
        self.comparisons.append(is_true)
        what = "as forecast" if is_true else f"not as forecast: {' and '.join(foretold) or 'nothing'}"
        self.say(f"{' and '.join(preempted)} preempted, {what}", worker)

    def see(self, cluster: str, text: str) -> None:
        """Add what was seen on a cluster."""
        self._add(LogLine(Sort.SEEN, self.seconds, text, cluster))

    def say(self, text: str, cluster: str = "") -> None:
        """Add what that means."""
        self._add(LogLine(Sort.FACT, self.seconds, text, cluster))

    def _add(self, line: LogLine) -> None:
        self.lines.append(line)
        self.news.set()
