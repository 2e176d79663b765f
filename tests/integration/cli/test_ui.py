"""`turnstile ui`: the page on loopback, for the one who has its secret, with that user's rights on the daemon."""

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from manager.page.loopback import LoopbackPage, PageTarget


class Daemon:
    """Answers on a socket or an address, and remembers who asked."""

    def __init__(self) -> None:
        self.tokens: list[str] = []
        self.ids: list[str] = []

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.tokens.append(request.headers.get("Authorization", ""))
        if request.path == "/v1/events":
            self.ids.append(request.headers.get("Last-Event-ID", ""))
            response = web.StreamResponse()
            response.content_type = "text/event-stream"
            await response.prepare(request)
            await response.write(b"event: hello\ndata: {}\n\n")
            await asyncio.Event().wait()
        if request.path == "/v1/crowded":
            return web.json_response({"error": "too many"}, status=503, headers={"Retry-After": "10"})
        return web.json_response({"path": str(request.rel_url), "method": request.method})


@asynccontextmanager
async def answering(socket: Path | None = None) -> AsyncIterator[tuple[Daemon, int]]:
    daemon, application = Daemon(), web.Application()
    application.router.add_route("*", "/{path:.*}", daemon.answer)
    runner = web.AppRunner(application, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0) if socket is None else web.UnixSite(runner, str(socket))
        await site.start()
        yield daemon, 0 if socket is not None else runner.addresses[0][1]
    finally:
        await runner.cleanup()


@asynccontextmanager
async def showing(target: PageTarget) -> AsyncIterator[tuple[LoopbackPage, aiohttp.ClientSession]]:
    page = LoopbackPage(target)
    async with page.serving(), aiohttp.ClientSession(f"http://127.0.0.1:{page.port}") as session:
        yield page, session


def bearer(page: LoopbackPage) -> dict[str, str]:
    return {"Authorization": f"Bearer {page.secret}"}


async def test_questions_reach_the_socket_and_answers_come_back(tmp_path: Path) -> None:
    async with answering(tmp_path / "s") as (_, _port), showing(PageTarget(tmp_path / "s")) as (page, session):
        async with session.get("/v1/workloads?limit=5&namespace=a%2Fb", headers=bearer(page)) as answer:
            assert (await answer.json())["path"] == "/v1/workloads?limit=5&namespace=a/b"
        async with session.get("/v1/crowded", headers=bearer(page)) as answer:
            assert (answer.status, answer.headers["Retry-After"]) == (503, "10")
        async with session.post("/v1/plan", json={}, headers=bearer(page)) as answer:
            assert (await answer.json())["method"] == "POST"
        async with session.get("/ui/") as answer:
            assert answer.status == 200


async def test_the_daemon_gets_the_users_token_and_never_the_secret(tmp_path: Path) -> None:
    async with answering() as (daemon, port):
        target = PageTarget(None, f"http://127.0.0.1:{port}/prefix", "the-users-token")
        async with showing(target) as (page, session), session.get("/v1/top", headers=bearer(page)) as answer:
            assert (await answer.json())["path"] == "/prefix/v1/top"
        assert daemon.tokens == ["Bearer the-users-token"]


async def test_a_stream_passes_through_at_once_with_its_position(tmp_path: Path) -> None:
    async with answering(tmp_path / "s") as (daemon, _), showing(PageTarget(tmp_path / "s")) as (page, session):
        async with session.get("/v1/events", headers={**bearer(page), "Last-Event-ID": "e-7"}) as answer:
            async with asyncio.timeout(60):
                assert await answer.content.readuntil(b"\n\n") == b"event: hello\ndata: {}\n\n"
        assert daemon.ids == ["e-7"]


REFUSED: dict[str, tuple[dict[str, str], int]] = {
    "no secret": ({}, 401),
    "a wrong secret": ({"Authorization": "Bearer guessed"}, 401),
    "another scheme": ({"Authorization": "Basic SECRET"}, 401),
    "another site": ({"Authorization": "Bearer SECRET", "Sec-Fetch-Site": "cross-site"}, 403),
    "a sibling port": ({"Authorization": "Bearer SECRET", "Sec-Fetch-Site": "same-site"}, 403),
    "another name of this host": ({"Authorization": "Bearer SECRET", "Host": "rebound.example"}, 403),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
async def test_others_are_refused(case: tuple[dict[str, str], int], tmp_path: Path) -> None:
    headers, status = case
    async with answering(tmp_path / "s") as (daemon, _), showing(PageTarget(tmp_path / "s")) as (page, session):
        sent = {name: value.replace("SECRET", page.secret) for name, value in headers.items()}
        async with session.get("/v1/top", headers=sent) as answer:
            assert answer.status == status
            assert page.secret not in await answer.text()
        assert daemon.tokens == []


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
async def test_nothing_but_questions_is_passed_on(method: str, tmp_path: Path) -> None:
    async with answering(tmp_path / "s") as (daemon, _), showing(PageTarget(tmp_path / "s")) as (page, session):
        async with session.request(method, "/v1/workloads", headers=bearer(page)) as answer:
            assert answer.status == 405
        assert daemon.tokens == []


async def test_a_daemon_that_does_not_answer_is_told(tmp_path: Path) -> None:
    none = tmp_path / "none"
    async with (
        showing(PageTarget(none)) as (page, session),
        session.get("/v1/top", headers=bearer(page)) as answer,
    ):
        assert answer.status == 502
        assert (await answer.json())["error"].startswith(f"no daemon answers on {none}")


def turnstile(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "manager", "ui", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


async def test_the_command_prints_an_address_that_works_and_ends_with_ctrl_c(tmp_path: Path) -> None:
    async with answering(tmp_path / "s"):
        process = await asyncio.to_thread(turnstile, "--no-open", "--socket", str(tmp_path / "s"))
        try:
            assert process.stdout is not None
            line = await asyncio.to_thread(process.stdout.readline)
            found = re.fullmatch(r"page: (http://127\.0\.0\.1:\d+)/ui/#k=([\w-]{43})\n", line)
            assert found is not None, line
            headers = {"Authorization": f"Bearer {found[2]}"}
            async with aiohttp.ClientSession() as session, session.get(f"{found[1]}/v1/top", headers=headers) as answer:
                assert json.loads(await answer.text())["path"] == "/v1/top"
        finally:
            process.send_signal(2)
            await asyncio.to_thread(process.communicate)
        assert process.returncode == 130


BAD: dict[str, tuple[list[str], int, str]] = {
    "no daemon": (["--socket", "/nowhere/s"], 3, "no daemon answers on /nowhere/s"),
    "a port that is none": (["--port", "70000"], 2, "--port"),
    "a token without a server": (["--token-file", "x"], 2, "--token-file requires --server"),
}


@pytest.mark.parametrize("case", BAD.values(), ids=BAD)
def test_bad_input(case: tuple[list[str], int, str]) -> None:
    arguments, code, words = case
    process = turnstile("--no-open", *arguments)
    _, told = process.communicate()
    assert (process.returncode, words in told) == (code, True), told
