"""The record of decisions: written by a thread of its own, so that no disk ever holds up the loop.

The loop only hands over frozen values, and drops them when the thread is too far behind. A disk that is full or cannot
be written costs the journal and a warning, nothing else; it is tried again every minute.
Invariant: every decision that changed something is handed over; one that repeats the last one and does nothing is not.
"""

import sqlite3
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from queue import Empty, Full, Queue
from typing import Final

from gates.actions import Decision
from gates.forecasts import ForecastRecord
from gates.recording import RecordingError
from gates.settings import Settings, UngatedPolicy
from gates.view import Group
from manager.journal_file import Entry, JournalError, JournalFile
from manager.logs import current_cause, get_log
from manager.reconciler import Look
from workerclient.kind import Key

DECISION: Final = "decision"
FORECAST: Final = "forecast"

_WAITING: Final = 10_000
_BATCH: Final = 256
_PRUNE_SECONDS: Final = 60.0
_RETRY_SECONDS: Final = 60.0
_CLOSE_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class JournaledRules:
    """What many decisions share."""

    settings: Settings
    policies: Mapping[str, UngatedPolicy]


@dataclass(frozen=True, slots=True)
class JournaledDecision:
    """A decision and the state that it was made from."""

    now_ns: int
    group: Group
    decision: Decision


@dataclass(frozen=True, slots=True)
class JournalLimits:
    """How much is kept."""

    max_age: timedelta
    max_bytes: int


class Journal:
    """Takes decisions from the loop and writes them to a file."""

    def __init__(self, path: Path, limits: JournalLimits, now_ns: Callable[[], int], monotonic: Callable[[], float]):
        self._path = path
        self._limits = limits
        self._now_ns = now_ns
        self._monotonic = monotonic
        self._queue: Queue[Entry | None] = Queue(_WAITING)
        self._last: dict[Key, tuple[str, tuple[str, ...]]] = {}
        self._file: JournalFile | None = None
        self._retry_at = 0.0
        self._pruned_at = float("-inf")
        self._thread = threading.Thread(target=self._run, name="journal", daemon=True)
        self.dropped = 0
        """How many entries are lost, because the thread was too far behind or the disk refused them."""
        self.is_degraded = False
        """Whether the file could not be written when it was last tried."""

    @property
    def waiting(self) -> int:
        """Return how many entries are on their way to the file."""
        return self._queue.qsize()

    # --- the loop's side

    def start(self) -> None:
        """Begin to write."""
        self._thread.start()

    def close(self) -> None:
        """Write what is waiting, but not for longer than a few seconds, and end."""
        with suppress(Full):
            self._queue.put(None, timeout=_CLOSE_SECONDS)
        self._thread.join(_CLOSE_SECONDS)
        if self._thread.is_alive():
            get_log().warning("journal.unfinished", waiting=self._queue.qsize())

    def note_look(self, look: Look) -> None:
        """Take a decision, unless it repeats the last one about the Workload and does nothing."""
        workload, decision = look.group.workload, look.decision
        key = Key(workload.namespace, workload.name)
        told = (decision.rule, decision.notes)
        if not decision.actions and self._last.get(key) == told:
            return
        self._last[key] = told
        body = JournaledDecision(look.now_ns, look.group, decision)
        rules = JournaledRules(look.settings, look.policies)
        self._put(Entry(look.now_ns, DECISION, str(key), decision.rule, body, rules, current_cause()))

    def note_forecast(self, workload: Key, record: ForecastRecord) -> None:
        """Take the record of a forecast."""
        label = str(record.result)
        self._put(Entry(self._now_ns(), FORECAST, str(workload), label, record, cause=current_cause()))

    def forget(self, key: Key) -> None:
        """Keep nothing in memory of a Workload that is gone."""
        self._last.pop(key, None)

    def _put(self, entry: Entry) -> None:
        try:
            self._queue.put_nowait(entry)
        except Full:
            self.dropped += 1
            if self.dropped == 1:
                get_log().warning("journal.behind", path=str(self._path))

    # --- the thread's side

    def _run(self) -> None:
        is_over = False
        while not is_over:
            batch, is_over = self._take()
            if batch:
                self._write(batch)
            for _ in batch:
                self._queue.task_done()
        if self._file is not None:
            self._file.close()

    def _take(self) -> tuple[list[Entry], bool]:
        first = self._queue.get()
        if first is None:
            return [], True
        batch = [first]
        while len(batch) < _BATCH:
            try:
                entry = self._queue.get_nowait()
            except Empty:
                break
            if entry is None:
                return batch, True
            batch.append(entry)
        return batch, False

    def _write(self, batch: list[Entry]) -> None:
        if self._file is None and self._monotonic() < self._retry_at:
            self.dropped += len(batch)
            return
        try:
            self._file = self._file or JournalFile(self._path)
            self._file.append(batch)
            self.is_degraded = False
            if self._monotonic() - self._pruned_at >= _PRUNE_SECONDS:
                self._prune(self._file)
        except (sqlite3.Error, OSError, JournalError, RecordingError) as error:
            self._give_up(error, len(batch))

    def _prune(self, file: JournalFile) -> None:
        oldest_ns = self._now_ns() - round(self._limits.max_age.total_seconds() * 1e9)
        file.prune(oldest_ns, self._limits.max_bytes)
        self._pruned_at = self._monotonic()

    def _give_up(self, error: Exception, lost: int) -> None:
        self.dropped += lost
        self.is_degraded = True
        self._retry_at = self._monotonic() + _RETRY_SECONDS
        get_log().warning("journal.unwritable", path=str(self._path), error=str(error), retry_seconds=_RETRY_SECONDS)
        if self._file is not None:
            with suppress(sqlite3.Error):  # it could not be written, so there is nothing to save
                self._file.close()
            self._file = None
