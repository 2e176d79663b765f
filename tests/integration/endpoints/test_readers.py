"""Who may read over HTTP, and what everybody else is told."""

import asyncio
import os
import ssl
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from config.types.choices import HttpAuthorization
from localcluster.cluster import Partition
from manager.base.errors import StartupError
from manager.serving.authorization import AuthorizationResult
from tests.integration.endpoints.house import (
    ELSEWHERE,
    MEANT,
    OPERATOR,
    READER,
    REVIEWER,
    STRANGER,
    USERS,
    House,
    house,
    write_certificate,
)
from tests.support.virtual_time import until

BURST, RATE = 40, 20
TOKEN = "a-token-in-a-file-of-its-own"


def with_token(directory: Path, text: str = TOKEN) -> dict[str, Any]:
    (directory / "token").write_text(f"{text}\n")
    return {"authorization": HttpAuthorization.TOKEN_FILE, "token_file": str(directory / "token")}


async def test_probes_need_no_token(tmp_path: Path) -> None:
    async with house(tmp_path) as home:
        assert await home.get("/healthz") == (200, "ok\n")
        assert await home.get("/readyz") == (200, "ok\n")
        assert home.reviews() == 0


@pytest.mark.parametrize(
    ("path", "token", "want"),
    [
        ("/metrics", "", 401),
        ("/metrics", "nobody-has-this-token", 401),
        ("/metrics", READER.token, 200),
        ("/metrics", STRANGER.token, 403),
        ("/metrics", OPERATOR.token, 403),
        ("/metrics", ELSEWHERE.token, 401),
        ("/v1/workers", OPERATOR.token, 200),
        ("/v1/workers", READER.token, 403),
        ("/v1/workloads/team/job/explanation", OPERATOR.token, 200),
        ("/v1/workloads/team/job/explanation", "", 401),
    ],
)
async def test_the_hub_decides(tmp_path: Path, path: str, token: str, want: int) -> None:
    async with house(tmp_path) as home:
        status, text = await home.get(path, token)
        assert status == want
        assert want == 200 or not token or token not in text


@pytest.mark.parametrize(("user", "want"), [(MEANT, 200), (READER, 401), (ELSEWHERE, 401)], ids=str)
async def test_a_token_for_another_audience_is_rejected(tmp_path: Path, user: object, want: int) -> None:
    async with house(tmp_path, audiences=["turnstile"]) as home:
        assert (await home.get("/metrics", getattr(user, "token", "")))[0] == want


async def test_what_the_hub_said_is_remembered_for_a_minute_and_a_refusal_for_ten_seconds(tmp_path: Path) -> None:
    async with house(tmp_path) as home:
        for _ in range(3):
            assert (await home.get("/metrics", READER.token))[0] == 200
            assert (await home.get("/metrics", "unknown-token"))[0] == 401
        assert home.reviews() == 2
        await home.clock.advance(11)
        assert (await home.get("/metrics", READER.token))[0] == 200
        assert (await home.get("/metrics", "unknown-token"))[0] == 401
        assert home.reviews() == 3
        await home.clock.advance(60)
        assert (await home.get("/metrics", READER.token))[0] == 200
        assert home.reviews() == 4


async def test_a_flood_of_bad_tokens_asks_the_hub_no_more_than_its_budget(tmp_path: Path) -> None:
    async with house(tmp_path) as home:
        assert (await home.get("/metrics", READER.token))[0] == 200
        authorizer = home.endpoints.http_app.authorizer
        assert authorizer is not None
        before, began = home.reviews(), home.clock.monotonic()

        async def flood() -> list[AuthorizationResult]:
            return await asyncio.gather(*(authorizer.authorize(f"guess-{number}", "/metrics") for number in range(200)))

        verdicts = await home.meanwhile(flood(), step=0.05)
        assert set(verdicts) == {AuthorizationResult.UNKNOWN, AuthorizationResult.UNSURE}
        assert home.reviews() - before <= BURST + RATE * (home.clock.monotonic() - began)
        assert (await home.get("/metrics", READER.token))[0] == 200


async def test_without_the_hub_no_new_reader_is_let_in(tmp_path: Path) -> None:
    async with house(tmp_path) as home:
        assert (await home.get("/metrics", READER.token))[0] == 200
        assert home.hub is not None
        await home.hub.partition(Partition.REFUSED)
        assert (await home.get("/metrics", OPERATOR.token))[0] == 503
        assert (await home.get("/metrics", READER.token))[0] == 200
        assert (await home.get("/healthz"))[0] == 200


async def test_without_leave_to_review_the_answer_is_unsure(tmp_path: Path) -> None:
    powerless = type(REVIEWER)(REVIEWER.name, REVIEWER.token, rules=())
    async with house(tmp_path, users=(powerless, *USERS[1:])) as home:
        assert await home.get("/metrics", READER.token) == (503, '{"error": "the token cannot be checked now"}')


async def test_the_token_of_a_file_opens_everything(tmp_path: Path) -> None:
    async with house(tmp_path, **with_token(tmp_path)) as home:
        assert (await home.get("/metrics", TOKEN))[0] == 200
        assert (await home.get("/v1/workers", TOKEN))[0] == 200
        for wrong in ("", TOKEN[:-1], f"{TOKEN}x", READER.token):
            assert (await home.get("/metrics", wrong))[0] == 401


async def test_without_authorization_there_are_metrics_and_nothing_else(tmp_path: Path) -> None:
    async with house(tmp_path, with_hub=False) as home:
        assert (await home.get("/metrics"))[0] == 200
        assert (await home.get("/v1/workers"))[0] == 404


async def test_the_port_for_probes_tells_nothing_else(tmp_path: Path) -> None:
    async with house(tmp_path, probe_port=0) as home:
        assert await home.get("/healthz", door=1) == (200, "ok\n")
        assert await home.get("/readyz", door=1) == (200, "ok\n")
        assert (await home.get("/metrics", READER.token, door=1))[0] == 404
        assert (await home.get("/v1/workers", OPERATOR.token, door=1))[0] == 404


async def prepare_again(home: House) -> None:
    """Do what SIGHUP does."""
    go_over = await home.endpoints.prepare(_Whole(home.settings), None)  # type: ignore[arg-type]
    await go_over()


class _Whole:
    """A configuration, as far as endpoints look at it."""

    def __init__(self, http: object) -> None:
        self.http = http


async def test_a_new_certificate_and_a_new_token_are_taken_over(tmp_path: Path) -> None:
    async with house(tmp_path, **with_token(tmp_path)) as home:
        with_token(tmp_path, "another-token-from-now-on")
        home.authority = ssl.create_default_context(cadata=write_certificate(tmp_path).decode())
        await prepare_again(home)
        assert (await home.get("/metrics", "another-token-from-now-on"))[0] == 200
        assert (await home.get("/metrics", TOKEN))[0] == 401


async def opened_for_writing(fifo: Path) -> int:
    """Open a FIFO once something reads it: before that the system refuses."""
    found: list[int] = []

    def is_open() -> bool:
        with suppress(OSError):
            found.append(os.open(fifo, os.O_WRONLY | os.O_NONBLOCK))
        return bool(found)

    await until(is_open)
    return found[0]


@pytest.mark.parametrize("file", ["tls.crt", "tls.key"])
async def test_S1_a_file_that_does_not_end_keeps_no_probe_waiting(tmp_path: Path, file: str) -> None:
    async with house(tmp_path, **with_token(tmp_path)) as home:
        (tmp_path / file).unlink()
        os.mkfifo(tmp_path / file)
        preparing = asyncio.create_task(prepare_again(home))
        writer = await opened_for_writing(tmp_path / file)
        assert (await home.get("/metrics", TOKEN))[0] == 200
        assert not preparing.done()
        os.close(writer)
        with pytest.raises(StartupError, match=r"http\.certificateFile: "):
            await preparing
        assert (await home.get("/metrics", TOKEN))[0] == 200


BROKEN = {
    "no certificate": ("tls.crt", "nonsense", "http.certificateFile: "),
    "no key": ("tls.key", "nonsense", "http.certificateFile: "),
    "a short token": ("token", "short", "http.tokenFile: the file"),
    "a token with spaces": ("token", "this is not a token but a sentence", "http.tokenFile: the file"),
    "a token without end": ("token", "x" * 5000, "http.tokenFile: the file"),
}


@pytest.mark.parametrize("case", BROKEN)
async def test_broken_files_change_nothing_and_are_named(tmp_path: Path, case: str) -> None:
    file, content, want = BROKEN[case]
    async with house(tmp_path, **with_token(tmp_path)) as home:
        (tmp_path / file).write_text(content)
        with pytest.raises(StartupError) as refused:
            await prepare_again(home)
        assert str(refused.value).startswith(want)
        assert content not in str(refused.value)
        assert (await home.get("/metrics", TOKEN))[0] == 200
