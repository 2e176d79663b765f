"""S10: the daemon's socket replaces nothing that is in use or is no socket, and only its owner may ever open it."""

import os
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from manager.base.errors import StartupError
from manager.serving.local_socket import local_socket


@pytest.fixture
def wide_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def listening(path: Path, kind: int = socket.SOCK_STREAM) -> socket.socket:
    made = socket.socket(socket.AF_UNIX, kind)
    made.bind(str(path))
    if kind == socket.SOCK_STREAM:
        made.listen(1)
    return made


def refused(path: Path) -> str:
    with pytest.raises(StartupError) as caught, local_socket(path):
        pass
    return str(caught.value)


NO_SOCKETS = {
    "a file": lambda path: path.write_text("precious"),
    "a directory": lambda path: path.mkdir(),
    "a pipe": os.mkfifo,
    "a link to nothing": lambda path: path.symlink_to("nowhere"),
    "a link to a file": lambda path: path.symlink_to(path.parent / "precious"),
}


@pytest.mark.parametrize("make", NO_SOCKETS.values(), ids=NO_SOCKETS)
def test_S10_what_is_no_socket_is_left_alone(tmp_path: Path, make: object) -> None:
    assert callable(make)
    (tmp_path / "precious").write_text("precious")
    path = tmp_path / "api.sock"
    make(path)
    before = path.lstat()
    assert refused(path) == f"api.socket: {path} exists and is not a socket; remove it, or set another path"
    after = path.lstat()
    assert (after.st_ino, after.st_mode, after.st_size) == (before.st_ino, before.st_mode, before.st_size)


def test_S10_a_socket_that_is_answered_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "api.sock"
    with closing(listening(path)):
        before = path.lstat().st_ino
        assert refused(path) == f"api.socket: another daemon answers at {path}; give each its own path, or null"
        assert path.lstat().st_ino == before


def test_S10_a_daemon_too_busy_to_answer_is_there_all_the_same(tmp_path: Path) -> None:
    path = tmp_path / "api.sock"
    with closing(listening(path)):
        callers = [socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) for _ in range(8)]
        for caller in callers:
            caller.settimeout(0)
            caller.connect_ex(str(path))
        assert "another daemon answers" in refused(path)
        for caller in callers:
            caller.close()


def test_S10_the_socket_of_another_kind_of_program_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "api.sock"
    with closing(listening(path, socket.SOCK_DGRAM)):
        assert refused(path).startswith(f"api.socket: {path} belongs to another program: ")
        assert path.is_socket()


def test_S10_a_second_daemon_leaves_the_first_alone(tmp_path: Path) -> None:
    path = tmp_path / "api.sock"
    with local_socket(path) as first:
        taken = f"another daemon (process {os.getpid()}) answers"
        assert taken in refused(path), "even before the first listens"
        first.listen()
        assert taken in refused(path)
        with closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as caller:
            caller.connect(str(path))


def test_S10_the_socket_of_a_killed_process_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "api.sock"
    listening(path).close()
    assert path.is_socket()
    with local_socket(path) as made:
        made.listen()
        with closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as caller:
            caller.connect(str(path))
    assert not path.exists()


def test_S10_at_the_end_only_its_own_socket_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "api.sock"
    with local_socket(path):
        path.unlink()
        other = listening(path)
    assert path.is_socket()
    other.close()


@pytest.mark.usefixtures("wide_umask")
def test_S10_no_other_user_may_open_it_at_any_moment(tmp_path: Path) -> None:
    path = tmp_path / "api.sock"
    seen: set[int] = set()
    is_over = threading.Event()

    def watch() -> None:
        while not is_over.is_set():
            try:
                seen.add(stat.S_IMODE(path.lstat().st_mode))
            except FileNotFoundError:
                continue

    watcher = threading.Thread(target=watch)
    watcher.start()
    for _ in range(200):
        with local_socket(path):
            seen.add(stat.S_IMODE(path.lstat().st_mode))
    is_over.set()
    watcher.join()
    assert seen == {0o600}
    assert os.umask(0) == 0, "what else the process makes has the mode that it asks for"


RACING = """
import sys
from pathlib import Path
from manager.base.errors import StartupError
from manager.serving.local_socket import local_socket
sys.stdin.readline()
try:
    with local_socket(Path(sys.argv[1])) as made:
        made.listen()
        print("bound", flush=True)
        sys.stdin.readline()
except StartupError:
    print("refused", flush=True)
"""


def test_S10_of_daemons_that_start_at_once_one_has_the_socket(tmp_path: Path) -> None:
    path = tmp_path / "api.sock"
    listening(path).close()
    command = [sys.executable, "-c", RACING, str(path)]
    racers = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) for _ in range(4)
    ]
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("\n")
    said = sorted(racer.stdout.readline().strip() for racer in racers if racer.stdout is not None)
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as caller:
        caller.connect(str(path))
    for racer in racers:
        racer.communicate("\n" if racer.poll() is None else None, timeout=60)
    assert said == ["bound", "refused", "refused", "refused"]
