"""What systemd is told, on a socket like its own."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from manager.process.systemd import Supervisor


@pytest.fixture
def listener(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as heard:
        heard.bind(str(tmp_path / "notify"))
        heard.settimeout(0.0)
        yield heard


def supervisor(listener: socket.socket, **environ: str) -> Supervisor:
    return Supervisor.from_environment({"NOTIFY_SOCKET": listener.getsockname(), **environ})


def test_it_hears_the_life_of_the_daemon(listener: socket.socket) -> None:
    told = supervisor(listener)
    told.ready("Leading")
    told.reloading(1_500_000)
    told.alive()
    told.stopping()
    heard = [listener.recv(4096).decode() for _ in range(4)]
    assert heard == [
        "READY=1\nSTATUS=Leading",
        "RELOADING=1\nMONOTONIC_USEC=1500",
        "WATCHDOG=1",
        "STOPPING=1\nSTATUS=Finishing what is on its way",
    ]


def test_an_abstract_socket_is_reached() -> None:
    name = f"turnstile-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as heard:
        heard.bind(f"\0{name}")
        Supervisor(f"@{name}").alive()
        assert heard.recv(4096) == b"WATCHDOG=1"


def test_without_systemd_nothing_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "socket", lambda *_: pytest.fail("a socket was opened"))
    supervised = Supervisor.from_environment({})
    supervised.ready("Leading")
    assert supervised.address == ""


def test_a_socket_that_is_gone_is_no_reason_to_end(tmp_path: Path) -> None:
    Supervisor(str(tmp_path / "nowhere")).alive()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("environ", "want"),
    [
        ({"WATCHDOG_USEC": "30000000"}, 30.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": str(os.getpid())}, 30.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "1"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({}, None),
    ],
    ids=["watched", "watched by name", "meant for another process", "no number", "zero", "not watched"],
)
def test_how_often_it_wants_a_sign_of_life(environ: dict[str, str], want: float | None) -> None:
    assert Supervisor.from_environment(environ).watchdog_seconds == want
