"""A daemon that is busy is asked again when it said, and a list that comes in pages is put together."""

import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from manager.cli.conventions.daemon import BusyError, DaemonClient, NoDaemonError
from manager.cli.conventions.exits import Exit

Answer = tuple[int, dict[str, Any], dict[str, str]] | None
"""Status, document and headers; None hangs up."""

BUSY: Answer = (429, {"error": "too many requests for plans"}, {"Retry-After": "2"})
FINE: Answer = (200, {"now": "t", "workers": []}, {})


@contextmanager
def answering(*answers: Answer) -> Iterator[tuple[DaemonClient, list[str], list[float]]]:
    """Serve these answers in turn; yield who asks for them, what was asked for, and how long it rested in between."""
    left, asked, rested = list(answers), list[str](), list[float]()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            answer = left.pop(0)
            if answer is None:
                return
            status, document, headers = answer
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(json.dumps(document).encode())

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    host, port = "127.0.0.1", server.server_address[1]
    try:
        yield (
            DaemonClient("here", "is it there?", lambda: http.client.HTTPConnection(host, port), rest=rested.append),
            asked,
            rested,
        )
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_S1_a_busy_daemon_is_asked_again_when_it_said() -> None:
    with answering(BUSY, BUSY, FINE) as (daemon, asked, rested):
        assert daemon.ask("workers") == FINE[1]  # type: ignore[index]
        assert (len(asked), rested) == (3, [2.0, 2.0])


def test_S1_a_daemon_that_stays_busy_is_one_sentence() -> None:
    with answering(*[BUSY] * 5) as (daemon, asked, rested):
        with pytest.raises(BusyError, match=r"^the daemon on here is busy: too many requests for plans$") as caught:
            daemon.ask("workers")
        assert (len(asked), len(rested), caught.value.code) == (5, 4, Exit.NO_ANSWER)


@pytest.mark.parametrize(("told", "rests"), [("99999", 5.0), ("soon", 1.0), ("-1", 1.0), ("1e9", 1.0), ("²", 1.0)])
def test_S1_no_daemon_can_make_a_command_wait_for_long(told: str, rests: float) -> None:
    busy: Answer = (429, {"error": "x"}, {"Retry-After": told.encode("utf-8").decode("latin-1")})
    with answering(busy, FINE) as (daemon, _, rested):
        daemon.ask("workers")
        assert rested == [rests]


def test_S1_pages_are_put_together_and_a_refused_connection_is_made_again() -> None:
    pages: list[Answer] = [
        (200, {"now": "t", "workloads": [{"name": "a"}], "continue": "ns/a"}, {}),
        None,
        BUSY,
        (200, {"now": "u", "workloads": [{"name": "b"}], "continue": ""}, {}),
    ]
    with answering(*pages) as (daemon, asked, rested):
        found = daemon.ask_for_all("workloads", {"namespace": "ns"})
        assert found == {"now": "t", "workloads": [{"name": "a"}, {"name": "b"}]}
        assert asked == ["/v1/workloads?namespace=ns", *["/v1/workloads?namespace=ns&continue=ns%2Fa"] * 3]
        assert rested == [1.0, 2.0]


def test_S1_a_daemon_that_is_gone_at_the_first_question_is_not_waited_for() -> None:
    with answering(None) as (daemon, asked, rested):
        with pytest.raises(NoDaemonError) as missing:
            daemon.ask_for_all("workloads")
        assert (len(asked), rested) == (1, [])
        error = missing.value
        assert str(error) == f"{error.problem}; {error.remedy}"
        assert (error.remedy, error.problem.startswith("no daemon answers on ")) == (daemon.remedy, True)
