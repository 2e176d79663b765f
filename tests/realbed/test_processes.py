"""Processes of a bed: ready or explained, and never left behind."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.realbed.processes import ProcessError, ProcessGroup, wait_until

SLEEPER = ["sleep", "600"]


def is_running(pid: int) -> bool:
    # Not by a signal: an orphan that was not reaped would still take it.
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return state.strip()[:1] not in {"", "Z"}


def test_processes_end_with_the_block(tmp_path: Path) -> None:
    with ProcessGroup(tmp_path) as processes:
        pids = [processes.start(name, SLEEPER).popen.pid for name in ("one", "two")]
        assert all(is_running(pid) for pid in pids)
    assert not any(is_running(pid) for pid in pids)


def test_crash_in_set_up_leaves_nothing_running(tmp_path: Path) -> None:
    pids = []

    def set_up() -> None:
        with ProcessGroup(tmp_path) as processes:
            pids.append(processes.start("one", SLEEPER).popen.pid)
            raise RuntimeError("set-up")

    with pytest.raises(RuntimeError, match="set-up"):
        set_up()
    assert not is_running(pids[0])


def test_process_that_ignores_the_request_to_end_is_killed_with_its_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.realbed.processes._TERMINATION_SECONDS", 0.2)
    child = tmp_path / "child"
    script = f"trap '' TERM; sleep 600 & echo $! > {child}; while :; do wait; done"
    with ProcessGroup(tmp_path) as processes:
        running = processes.start("stubborn", ["sh", "-c", script])
        running.wait_until(lambda: child.exists() and child.read_text().strip() != "", seconds=10)
    assert not is_running(running.popen.pid)
    wait_until(lambda: not is_running(int(child.read_text())), seconds=10, what="the child to end")


def test_process_that_ends_early_is_explained_by_its_log(tmp_path: Path) -> None:
    with ProcessGroup(tmp_path) as processes:
        running = processes.start("failing", ["sh", "-c", "echo port in use >&2; exit 3"])
        with pytest.raises(ProcessError, match=r"failing ended with exit code 3:\nport in use"):
            running.wait_until(lambda: False, seconds=10)


def test_process_that_is_never_ready_is_explained_by_its_log(tmp_path: Path) -> None:
    with ProcessGroup(tmp_path) as processes:
        running = processes.start("slow", ["sh", "-c", "echo still starting; exec sleep 600"])
        wait_until(lambda: "still" in running.log_file.read_text(), seconds=10, what="the log")
        with pytest.raises(ProcessError, match=r"waited 0.01 s for slow to be ready:\nstill starting"):
            running.wait_until(lambda: False, seconds=0.01)


def test_killed_run_leaves_nothing_running(tmp_path: Path) -> None:
    code = f"""
import sys, time
from pathlib import Path
from tests.realbed.processes import ProcessGroup
with ProcessGroup(Path({str(tmp_path)!r})) as processes:
    print(processes.start("one", {SLEEPER!r}).popen.pid, flush=True)
    time.sleep(600)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        pid = int(run.stdout.readline())
        assert is_running(pid)
        run.send_signal(signal.SIGKILL)
    wait_until(lambda: not is_running(pid), seconds=10, what="the orphan to end")
