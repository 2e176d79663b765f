"""The record of decisions: written by a thread of its own, so that no disk ever holds up the loop.

The loop only hands over frozen values, and drops them when the thread is too far behind. A disk that is full or cannot
be written loses entries and causes a warning, nothing else; it is tried again, at first after seconds, then every
minute.
Invariant: every decision that changed something is handed over, or counted as a repetition in the entry of another.
"""

import sqlite3
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from queue import Empty, Full, Queue
from typing import TYPE_CHECKING, Final

from config.api.identifiers import WorkerName
from config.api.meta import NANOSECONDS, ObjectKey
from gates.model.actions import Decision
from gates.model.forecasts import ForecastRecord
from gates.model.settings import Settings, UngatedPolicy
from gates.model.view import WorkloadView
from gates.shadow.hindsight import Episode
from manager.base.retrying import RetriedOperation
from manager.journal.claiming import claim_journal
from manager.journal.file import JournalEntry, JournalFile, WriteOutcome
from manager.journal.thinning import Kept, Thinning
from manager.logging.logs import current_cause, get_log
from manager.reconcile.reconciliation import Reconciliation
from workerclient.base.backoff import Backoff, Failures, Jitter, OnRetry, ignore_retry

if TYPE_CHECKING:
    from manager.process.file_lock import FileLock

DECISION: Final = "decision"
FORECAST: Final = "forecast"
EPISODE: Final = "episode"
"""What shadow mode saw of one attempt to place a Workload; the last entry of an episode is its latest state."""

_WAITING: Final = 10_000
_BATCH: Final = 256
_TIDY_SECONDS: Final = 60.0
_TIDY_STEPS: Final = 16
"""How many short steps the entries that wait have to wait for at most."""
_FIRST_WAIT_SECONDS: Final = 5.0
_LONGEST_WAIT_SECONDS: Final = 60.0
_CLOSE_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class JournaledRules:
    """What many decisions share."""

    settings: Settings
    policies: Mapping[WorkerName, UngatedPolicy]


@dataclass(frozen=True, slots=True)
class JournaledDecision:
    """A decision and the state that it was made from."""

    now_ns: int
    group: WorkloadView
    decision: Decision


@dataclass(frozen=True, slots=True)
class JournalLimits:
    """How much is kept."""

    max_age: timedelta
    max_bytes: int


class Journal:
    """Takes decisions from the loop and writes them to a file."""

    def __init__(
        self,
        path: Path,
        limits: JournalLimits,
        now_ns: Callable[[], int],
        monotonic: Callable[[], float],
        jitter: Jitter,
        on_retry: OnRetry = ignore_retry,
    ) -> None:
        self._path = path
        self._limits = limits
        self._now_ns = now_ns
        self._monotonic = monotonic
        self._queue: Queue[JournalEntry | None] = Queue(_WAITING)
        self._thinning = Thinning(monotonic)
        self._file: JournalFile | None = None
        self._claim: FileLock | None = None
        wait = Backoff(jitter, _FIRST_WAIT_SECONDS, _LONGEST_WAIT_SECONDS, least=0.5)
        # The thread never sleeps: while it waits for the file it takes entries and drops them.
        self._failures = Failures(RetriedOperation.JOURNAL, wait, on_retry, str(path))
        self._retry_at = 0.0
        self._tidied_at = float("-inf")
        self._grown = 0
        self._is_tidying = False
        self._is_full = False
        self._was_behind = False
        self._thread = threading.Thread(target=self._run, name="journal", daemon=True)
        self.dropped = 0
        """How many entries are lost: the thread was too far behind, the disk refused them, or there was no room."""
        self.is_degraded = False
        """Whether the file could not be written when it was last tried, or had no room."""

    @property
    def waiting(self) -> int:
        """Return how many entries are on their way to the file."""
        return self._queue.unfinished_tasks

    # --- the loop's side

    def claim(self) -> None:
        """Keep other daemons from the file from now on, though it is opened with the first entry.

        Raises `TakenPathError`.
        """
        self._claim = claim_journal(self._path)

    def start(self) -> None:
        """Begin to write."""
        self._thread.start()

    def close(self) -> None:
        """Write what is waiting, but not for longer than a few seconds, and end."""
        for kept in self._thinning.forget_all():
            self._put_decision(kept)
        with suppress(Full):
            self._queue.put(None, timeout=_CLOSE_SECONDS)
        self._thread.join(_CLOSE_SECONDS)
        if self._thread.is_alive():
            get_log().warning("journal.unfinished", waiting=self.waiting)
        elif self._claim is not None:
            self._claim.close()

    def note_reconciliation(self, reconciliation: Reconciliation) -> None:
        """Take a decision, unless it repeats an earlier one about the Workload."""
        workload = reconciliation.group.workload
        for kept in self._thinning.take(workload.key, reconciliation, current_cause()):
            self._put_decision(kept)

    def note_forecast(self, workload: ObjectKey, record: ForecastRecord) -> None:
        """Take the record of a forecast."""
        label = str(record.result)
        self._put(JournalEntry(self._now_ns(), FORECAST, str(workload), label, record, cause=current_cause()))

    def note_episode(self, episode: Episode) -> None:
        """Take the latest state of an episode that shadow mode sees."""
        self._put(
            JournalEntry(
                self._now_ns(), EPISODE, episode.workload, "settled" if episode.is_settled else "open", episode
            )
        )

    def forget(self, key: ObjectKey) -> None:
        """Keep nothing in memory of a Workload that is gone."""
        kept = self._thinning.forget(key)
        if kept is not None:
            self._put_decision(kept)

    def _put_decision(self, kept: Kept) -> None:
        reconciliation = kept.reconciliation
        workload = f"{reconciliation.group.workload.namespace}/{reconciliation.group.workload.name}"
        body = JournaledDecision(reconciliation.now_ns, reconciliation.group, reconciliation.decision)
        rules = JournaledRules(reconciliation.settings, reconciliation.policies)
        self._put(
            JournalEntry(
                reconciliation.now_ns,
                DECISION,
                workload,
                str(reconciliation.decision.rule),
                body,
                rules,
                kept.cause,
                kept.repeated,
            )
        )

    def _put(self, entry: JournalEntry) -> None:
        try:
            self._queue.put_nowait(entry)
        except Full:
            self.dropped += 1
            if not self._was_behind:
                self._was_behind = True
                get_log().warning("journal.behind", path=str(self._path))

    # --- the thread's side

    def _run(self) -> None:
        is_over = False
        while not is_over:
            batch, is_over = self._take()
            if batch or self._is_tidying:
                self._write(batch)
            for _ in batch:
                self._queue.task_done()
        if self._file is not None:
            self._file.close()

    def _take(self) -> tuple[list[JournalEntry], bool]:
        """Return what waits, and whether that is all; waits for it unless there is something else to do."""
        batch: list[JournalEntry] = []
        try:
            while len(batch) < _BATCH:
                entry = self._queue.get(block=not batch and not self._is_tidying)
                if entry is None:
                    self._queue.task_done()
                    return batch, True
                batch.append(entry)
        except Empty:
            pass
        return batch, False

    def _write(self, batch: list[JournalEntry]) -> None:
        if self._file is None and self._monotonic() < self._retry_at:
            self._is_tidying = False
            self.dropped += len(batch)
            return
        outcome = WriteOutcome()
        try:
            file = self._opened()
            if batch:
                file.append(batch, outcome)
                self._judge(file, outcome)
            self._tidy(file)
            self._failures.reset()
        except Exception as error:  # noqa: BLE001 - whatever is wrong with a file must not end the thread
            self._give_up(error)
        self.dropped += len(batch) - outcome.written

    def _opened(self) -> JournalFile:
        """Return the file; another one if it is no longer there under its name."""
        if self._file is not None and not self._file.is_in_place():
            get_log().warning("journal.replaced", path=str(self._path))
            self._close()
        if self._file is None:
            self._file = JournalFile(self._path, self._limits.max_bytes, self._claim)
        return self._file

    def _judge(self, file: JournalFile, outcome: WriteOutcome) -> None:
        """Log what was left out: the first entry without room, and when there is room again."""
        self._grown += outcome.growth
        if outcome.refused:
            get_log().warning("journal.refused", path=str(self._path), error=outcome.problem)
        # A single small entry may still fit where the next ones do not.
        self.is_degraded = is_full = outcome.without_room > 0 or (self._is_full and not file.has_room())
        if is_full and not self._is_full:
            get_log().warning("journal.full", path=str(self._path), bytes=file.size(), limit=file.limit)
        if self._is_full and not is_full:
            get_log().info("journal.has_room", path=str(self._path), dropped=self.dropped)
        self._is_full = is_full

    def _tidy(self, file: JournalFile) -> None:
        """Do some of what keeps the file small, if enough was written or time has passed since the last time."""
        now = self._monotonic()
        if self._grown >= self._limits.max_bytes // 16 or now - self._tidied_at >= _TIDY_SECONDS:
            self._grown, self._tidied_at = 0, now
            self._is_tidying = True
        now_ns = self._now_ns()
        oldest_ns = now_ns - round(self._limits.max_age.total_seconds() * NANOSECONDS)
        for _ in range(_TIDY_STEPS):
            self._is_tidying = self._is_tidying and file.tidy(oldest_ns, now_ns)

    def _give_up(self, error: Exception) -> None:
        self.is_degraded = True
        self._is_tidying = False
        seconds = self._failures.next_wait(error)
        self._retry_at = self._monotonic() + seconds
        get_log().warning("journal.unwritable", path=str(self._path), error=str(error), retry_seconds=round(seconds, 1))
        self._close()

    def _close(self) -> None:
        if self._file is not None:
            with suppress(sqlite3.Error):  # it cannot be written, so there is nothing to save
                self._file.close()
            self._file = None
