"""Ports for servers: free, distinct, and not those that the kernel gives to outgoing connections."""

import socket
from contextlib import ExitStack

import pytest

from tests.realbed import ports


def test_ports_are_distinct_and_can_be_used() -> None:
    found = ports.free_ports(20)
    assert len(set(found)) == 20
    with ExitStack() as held:
        for port in found:
            held.enter_context(socket.create_server(("127.0.0.1", port)))


def test_a_port_in_use_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    taken, free, spare = ports.free_ports(3)
    with socket.create_server(("127.0.0.1", taken)):
        monkeypatch.setattr("random.sample", lambda _candidates, _count: [taken, free, spare])
        assert ports.free_ports(1) == [free]


def test_no_free_port_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("random.sample", lambda _candidates, _count: [])
    with pytest.raises(OSError, match="no 1 ports of 10000 to"):
        ports.free_ports(1)
