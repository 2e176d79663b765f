"""Server processes that never outlive the run that started them.

Each process leads a group of its own and is stopped through that group. A small reaper process holds the list of groups
and the read end of a pipe: when this run ends in whichever way, even by SIGKILL, the pipe closes and the reaper kills
what is left.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Final, Self

_TERMINATION_SECONDS = 10.0
_POLL_SECONDS = 0.05
_LOG_LINES_SHOWN = 15
_GO: Final = {"GOGC": "400"}
"""Servers live as long as a run and machines have more memory than cores: at Go's default a third of an API server's
processor time goes into collecting garbage."""

_REAPER = """
import os, signal, sys
alive = set()
for line in sys.stdin:
    verb, group = line.split()
    (alive.add if verb == "watch" else alive.discard)(int(group))
for group in alive:
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass
"""


class ProcessError(RuntimeError):
    """A process ended, or did not become ready in time; the message shows the end of its log."""


def wait_until(holds: Callable[[], bool], *, seconds: float, what: str) -> None:
    """Return as soon as the condition holds; raise when the deadline passes before that."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {seconds:g} s for {what}")
        time.sleep(_POLL_SECONDS)


@dataclass(slots=True)
class Running:
    """One started process, how it was started, and the file that its output goes to."""

    name: str
    popen: subprocess.Popen[bytes]
    log_file: Path
    arguments: Sequence[str]
    environment: Mapping[str, str]

    @property
    def pid(self) -> int:
        """Return the process's number, which is also its group's."""
        return self.popen.pid

    def wait_until(self, is_ready: Callable[[], bool], *, seconds: float) -> None:
        """Return as soon as the condition holds; raise when the process ends or the deadline passes before that."""
        try:
            wait_until(lambda: self._has_ended() or is_ready(), seconds=seconds, what=f"{self.name} to be ready")
        except TimeoutError as timeout:
            raise ProcessError(f"{timeout}:\n{self._end_of_log()}") from None
        if self._has_ended():
            raise ProcessError(f"{self.name} ended with exit code {self.popen.returncode}:\n{self._end_of_log()}")

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the whole group; one that ended already does not mind."""
        with suppress(ProcessLookupError):
            os.killpg(self.popen.pid, number)

    def kill(self) -> None:
        """End it as a power failure would."""
        self.send(signal.SIGKILL)
        self.popen.wait(_TERMINATION_SECONDS)

    def stop(self) -> None:
        """Ask the group to end, and make it end when it does not."""
        self.send(signal.SIGCONT)
        for how in (signal.SIGTERM, signal.SIGKILL):
            self.send(how)
            with suppress(subprocess.TimeoutExpired):
                self.popen.wait(_TERMINATION_SECONDS)
                return

    def _has_ended(self) -> bool:
        return self.popen.poll() is not None

    def _end_of_log(self) -> str:
        lines = self.log_file.read_text(errors="replace").splitlines()
        return "\n".join(lines[-_LOG_LINES_SHOWN:])


@dataclass(slots=True)
class ProcessGroup:
    """All processes of one bed: a context manager that stops them at its end. Threads may share it."""

    log_directory: Path
    _running: list[Running] = field(default_factory=list)
    _reaper: subprocess.Popen[str] | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def start(self, name: str, arguments: Sequence[object], environment: Mapping[str, str] | None = None) -> Running:
        """Start a process whose output goes to `<name>.log`; `environment` comes on top of this process's own."""
        log_file = self.log_directory / f"{name}.log"
        plain = [str(each) for each in arguments]
        running = Running(name, self._spawn(plain, log_file, environment or {}), log_file, plain, environment or {})
        with self._lock:
            self._running.append(running)
        return running

    def start_again(self, running: Running) -> None:
        """Start a process that ended once more, in the same way."""
        self._tell_reaper("forget", running.pid)
        running.popen = self._spawn(running.arguments, running.log_file, running.environment)

    def end(self, running: Running) -> None:
        """Stop one process for good, before the others."""
        running.stop()
        self._tell_reaper("forget", running.pid)
        with self._lock:
            self._running.remove(running)

    def _spawn(
        self, arguments: Sequence[str], log_file: Path, environment: Mapping[str, str]
    ) -> subprocess.Popen[bytes]:
        if self._reaper is None:
            raise RuntimeError("start() is for the inside of the `with` block")
        with log_file.open("ab") as log:
            popen = subprocess.Popen(
                arguments,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                process_group=0,
                env={**_GO, **os.environ, **environment},
            )
        self._tell_reaper("watch", popen.pid)
        return popen

    def __enter__(self) -> Self:
        self.log_directory.mkdir(parents=True, exist_ok=True)
        self._reaper = subprocess.Popen(
            [sys.executable, "-S", "-E", "-c", _REAPER], stdin=subprocess.PIPE, text=True, process_group=0
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        # All are asked at once: one after the other would take as long as their sum.
        for running in self._running:
            running.send(signal.SIGCONT)
            running.send(signal.SIGTERM)
        while self._running:
            self.end(self._running[-1])
        if self._reaper is not None and self._reaper.stdin is not None:
            self._reaper.stdin.close()
            self._reaper.wait(_TERMINATION_SECONDS)

    def _tell_reaper(self, verb: str, group: int) -> None:
        if self._reaper is not None and self._reaper.stdin is not None:
            with self._lock:
                self._reaper.stdin.write(f"{verb} {group}\n")
                self._reaper.stdin.flush()
