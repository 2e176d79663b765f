"""Answers that an HTTP library stumbles over: one ClusterError each, without the token, and the kind is lost."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import orjson
import pytest

from config.api.meta import ObjectKey
from config.kubeconfig.access import ClusterAccess
from localcluster.serving.tls import issue_certificates
from tests.support.clusters import Setting, told_to
from tests.support.odd_answers import ODD_MEDIA_TYPES, document, raw_answer
from tests.support.virtual_time import until
from workerclient.base.errors import ClusterError, ProtocolViolation
from workerclient.objects.connection_report import ConnectionState
from workerclient.transport.session import SessionLimits

A = ObjectKey("default", "a")
TOKEN = "very-secret-token-of-a-throw-away-cluster"
CONFIG_MAP = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "a", "namespace": "default", "uid": "u", "resourceVersion": "1"},
}


@asynccontextmanager
async def saying(
    answer: Callable[[bytes], bytes], directory: Path, *, hold: bool = False
) -> AsyncIterator[ClusterAccess]:
    """Answer each request, given its head, with these bytes; then end the connection, or say nothing more."""
    certificates = issue_certificates("odd")

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            writer.write(answer(await reader.readuntil(b"\r\n\r\n")))
            await writer.drain()
            if hold:
                await reader.read()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(speak, "127.0.0.1", 0, ssl=certificates.server_context(directory))
    async with server:
        port = server.sockets[0].getsockname()[1]
        yield ClusterAccess(f"https://127.0.0.1:{port}", ca=certificates.authority, token=TOKEN)


@pytest.mark.parametrize("media_type", ODD_MEDIA_TYPES.values(), ids=ODD_MEDIA_TYPES.keys())
async def test_F1_parameters_of_the_media_type_are_not_looked_at(tmp_path: Path, media_type: str) -> None:
    async with saying(lambda _head: document(CONFIG_MAP, media_type), tmp_path) as access:
        story = told_to(Setting(), access, "odd")
        assert await story.followed.resource.get(A) == CONFIG_MAP
        await story.client.close()


@pytest.mark.parametrize("media_type", ODD_MEDIA_TYPES.values(), ids=ODD_MEDIA_TYPES.keys())
@pytest.mark.parametrize("status", ["200 OK", "500 Oh", "403 No"])
async def test_F1_an_odd_media_type_where_a_list_or_a_watch_belongs_loses_the_kind(
    tmp_path: Path, media_type: str, status: str
) -> None:
    async with saying(lambda _head: raw_answer(b"[]", media_type, status), tmp_path) as access:
        story = told_to(Setting(), access, "odd")
        async with story.client.running():
            await story.lost()


ODD_HEADERS = {
    "no date": {"Date": "Mon, 99 Foo 20000000000 99:99:99 GMT"},
    "a date of 5000 digits": {"Date": f"Mon, {'1' * 5000} Jan 2026 00:00:00 GMT"},
    "a date without a zone": {"Date": "Thu, 01 Jan 1970 00:00:00 -9999"},
    "a pause without end": {"Retry_After": "9" * 400},
    "a pause in other digits": {"Retry_After": "\u00b2"},
    "a length in words": {"X_Length": "many"},
    "an odd cookie": {"Set_Cookie": "a=\x01; Max-Age=\xff; Expires=never; Domain=[::"},
    "an odd location": {"Location": "http://[::1/%%%"},
    "an odd encoding": {"Content_Encoding": "br, gzip, nonsense"},
}


@pytest.mark.parametrize("headers", ODD_HEADERS.values(), ids=ODD_HEADERS.keys())
@pytest.mark.parametrize("status", ["200 OK", "302 Found", "429 Later"])
async def test_F1_an_odd_header_is_ignored_or_one_error(tmp_path: Path, headers: dict[str, str], status: str) -> None:
    answer = raw_answer(orjson.dumps(CONFIG_MAP), "application/json", status, **headers)
    async with saying(lambda _head: answer, tmp_path) as access:
        story = told_to(Setting(), access, "odd")
        found: object = None
        try:
            found = await story.followed.resource.get(A)
        except ClusterError as error:
            found = str(error)
        assert found == CONFIG_MAP or str(found).startswith("cluster odd: get configmaps default/a: ")
        await story.client.close()


async def test_F1_an_error_of_the_wire_does_not_hold_the_token(tmp_path: Path) -> None:
    """The parser quotes the line that it stumbled over, and the server put our own header into it."""

    def echo(head: bytes) -> bytes:
        (authorization,) = [line for line in head.split(b"\r\n") if line.lower().startswith(b"authorization")]
        return b"HTTP/1.1 200 OK\r\n" + authorization.replace(b"Authorization:", b"Bad Header") + b"\r\n\r\n"

    async with saying(echo, tmp_path) as access:
        story = told_to(Setting(), access, "odd")
        with pytest.raises(ProtocolViolation) as caught:
            await story.followed.resource.get(A)
        assert "[token]" in str(caught.value)
        assert TOKEN not in str(caught.value)
        await story.client.close()


@pytest.mark.parametrize("status", ["200 OK", "418 Teapot"])
@pytest.mark.parametrize("media_type", ["application/json", "text/html"])
async def test_F1_a_page_that_echoes_the_token_is_not_quoted_with_it(
    tmp_path: Path, media_type: str, status: str
) -> None:
    body = f"<html>you sent Bearer {TOKEN}</html>".encode()
    async with saying(lambda _head: raw_answer(body, media_type, status), tmp_path) as access:
        story = told_to(Setting(), access, "odd")
        with pytest.raises(ClusterError, match=r"you sent Bearer \[token\]") as caught:
            await story.followed.resource.get(A)
        assert TOKEN not in str(caught.value)
        await story.client.close()


async def test_F1_a_refused_watch_whose_body_never_ends_is_given_up(tmp_path: Path) -> None:
    listed = {"apiVersion": "v1", "kind": "ConfigMapList", "metadata": {"resourceVersion": "1"}, "items": []}
    asked: list[bytes] = []

    def answer(head: bytes) -> bytes:
        asked.append(head)
        if b"watch=true" not in head:
            return document(listed)
        return b"HTTP/1.1 500 Oh\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"

    async with saying(answer, tmp_path, hold=True) as access:
        story = told_to(Setting(), access, "odd")
        async with story.client.running():
            await until(lambda: any(b"watch=true" in head for head in asked))
            while story.connection is not ConnectionState.LOST:
                assert story.clock.monotonic() <= SessionLimits().request_seconds
                await story.clock.advance(0.5)
                await asyncio.sleep(0.001)
            assert "no answer within 10 s" in story.client.report.message
