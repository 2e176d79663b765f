"""A server that is no API server, or a broken one, is one clear error and never a wrong object."""

import asyncio
from pathlib import Path

import orjson
import pytest
from aiohttp import web

from config.api.meta import ObjectKey
from config.kubeconfig.access import ClusterAccess
from localcluster.serving.tls import issue_certificates
from tests.integration.workerclient.raw_server import TOKEN, Handler, serving
from tests.support.clusters import Setting, told_to
from tests.support.virtual_time import until
from workerclient.base.errors import ClusterError, Forbidden, ProtocolViolation, TooLarge, Unavailable
from workerclient.cluster import ClientLimits
from workerclient.objects.connection_report import ConnectionState
from workerclient.transport.session import SessionLimits

A = ObjectKey("default", "a")


def answering(status: int, body: bytes, content_type: str = "application/json", **headers: str) -> Handler:
    async def answer(_request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(status=status, body=body, content_type=content_type, headers=headers)

    return answer


def chunked(part: bytes, count: int) -> Handler:
    """Answer in parts, without a length."""

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        response.enable_chunked_encoding()
        await response.prepare(request)
        for _ in range(count):
            await response.write(part)
        await response.write_eof()
        return response

    return answer


ODD_ANSWERS: dict[str, tuple[Handler, type[ClusterError], str]] = {
    "a login page with 200": (
        answering(200, b"<html>please log in</html>", "text/html"),
        ProtocolViolation,
        'expected JSON, got text/html: "<html>please log in</html>"',
    ),
    "a proxy's 502": (
        answering(502, b"<html>Bad Gateway</html>", "text/html"),
        Unavailable,
        'HTTP 502 with text/html instead of a Status: "<html>Bad Gateway</html>"',
    ),
    "half a document": (answering(200, b'{"kind":"Conf'), ProtocolViolation, "expected one ConfigMap as JSON"),
    "another kind": (
        answering(200, b'{"kind":"Pod","apiVersion":"v1"}'),
        ProtocolViolation,
        "expected one v1 ConfigMap, got v1 Pod",
    ),
    "a redirect": (answering(302, b"", Location="https://elsewhere/"), ProtocolViolation, "HTTP 302"),
    "far too much": (answering(200, b'{"x":"' + b"x" * 4096 + b'"}'), TooLarge, "the limit is 1024"),
    "far too much, without saying so": (chunked(b"x" * 700, 3), TooLarge, "more than 1024 bytes"),
    "a header of a megabyte": (
        answering(200, b"{}", Much="x" * (1 << 20)),
        ProtocolViolation,
        "expected HTTP/1.1, got something else",
    ),
    "ten thousand headers": (
        answering(200, b"{}", **{f"X-{number}": "x" for number in range(10_000)}),
        ProtocolViolation,
        "expected HTTP/1.1, got something else",
    ),
    "a Status that is nonsense": (answering(500, b'{"kind":"Status","message":[1]}'), Unavailable, "HTTP 500"),
}


@pytest.mark.parametrize(("handler", "want", "message"), ODD_ANSWERS.values(), ids=ODD_ANSWERS.keys())
async def test_an_odd_answer_is_one_error_that_names_the_cluster(
    tmp_path: Path, handler: Handler, want: type[ClusterError], message: str
) -> None:
    limits = ClientLimits(session=SessionLimits(max_response_bytes=1024))
    async with serving(handler, tmp_path) as access:
        story = told_to(Setting(limits=limits), access, "odd")
        async with story.client.running():
            with pytest.raises(want) as caught:
                await story.followed.resource.get(A)
            assert str(caught.value).startswith("cluster odd: get configmaps default/a: ")
            assert message in str(caught.value)
            await story.lost()
            assert story.client.report.reason == "ClientConnectionFailed"


async def test_a_token_that_the_server_echoes_does_not_get_into_the_error(tmp_path: Path) -> None:
    async def echo(request: web.BaseRequest) -> web.StreamResponse:
        message = f'User "x" cannot get resource because of {request.headers["Authorization"]}'
        return web.Response(status=403, body=orjson.dumps({"kind": "Status", "message": message}))

    async with serving(echo, tmp_path) as access:
        story = told_to(Setting(), access, "odd")
        async with story.client.running():
            with pytest.raises(Forbidden, match=r"because of Bearer \[token\]"):
                await story.followed.resource.get(A)
            await story.lost()
            assert TOKEN not in story.client.report.message


async def test_a_server_that_speaks_no_http_is_told_as_that(tmp_path: Path) -> None:
    certificates = issue_certificates("odd")
    context = certificates.server_context(tmp_path)

    async def shout(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail.example.org ESMTP\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(shout, "127.0.0.1", 0, ssl=context)
    async with server:
        port = server.sockets[0].getsockname()[1]
        story = told_to(Setting(), ClusterAccess(f"https://127.0.0.1:{port}", ca=certificates.authority), "odd")
        async with story.client.running():
            with pytest.raises(ProtocolViolation, match=r"expected HTTP/1\.1, got something else"):
                await story.followed.resource.get(A)


async def test_a_server_with_the_certificate_of_another_authority_is_not_talked_to(tmp_path: Path) -> None:
    asked: list[str] = []

    async def listen(request: web.BaseRequest) -> web.StreamResponse:
        asked.append(request.path)
        return web.Response()

    async with serving(listen, tmp_path) as access:
        other = ClusterAccess(access.server, ca=issue_certificates("other").authority, token=TOKEN)
        story = told_to(Setting(), other, "odd")
        async with story.client.running():
            with pytest.raises(Unavailable, match="certificate verify failed"):
                await story.followed.resource.get(A)
            await story.lost()
    assert asked == []


class ScriptedWatch:
    """Serves a list of one ConfigMap, and watches that play the given lines and then stay open."""

    def __init__(self, *scripts: bytes) -> None:
        self.scripts = list(scripts)
        self.lists = 0

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.query.get("watch") != "true":
            self.lists += 1
            metadata = {"name": "a", "namespace": "default", "uid": "u", "resourceVersion": str(self.lists)}
            listed = {"apiVersion": "v1", "kind": "ConfigMapList", "metadata": {"resourceVersion": str(self.lists)}}
            return web.Response(
                body=orjson.dumps({**listed, "items": [{"metadata": metadata, "data": {"n": str(self.lists)}}]}),
                content_type="application/json",
            )
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        if self.scripts:
            await response.write(self.scripts.pop(0))
            return response
        await asyncio.get_running_loop().create_future()
        return response


METADATA = b'"metadata":{"name":"b","namespace":"default","uid":"v","resourceVersion":"9"}'
GARBAGE_EVENTS = {
    "HTML": b"<html>\n",
    "half an event and the end": b'{"type":"ADDED","object":{"kind":"Conf\n',
    "another kind": b'{"type":"ADDED","object":{"kind":"Pod",' + METADATA + b"}}\n",
    "an unknown type": b'{"type":"CHANGED","object":{"apiVersion":"v1","kind":"ConfigMap",' + METADATA + b"}}\n",
    "no identity": b'{"type":"ADDED","object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{}}}\n',
    "a versionless bookmark": b'{"type":"BOOKMARK","object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{}}}\n',
}


@pytest.mark.parametrize("garbage", GARBAGE_EVENTS.values(), ids=GARBAGE_EVENTS.keys())
async def test_a_garbage_event_is_counted_and_everything_is_listed_again(tmp_path: Path, garbage: bytes) -> None:
    script = ScriptedWatch(garbage)
    async with serving(script.answer, tmp_path) as access:
        story = told_to(Setting(), access, "odd")
        async with story.client.running():
            await until(lambda: script.lists == 2)
            await story.connected()
            assert story.followed.reflector.counts.garbage == 1
            assert story.followed.cache.get(A) == {"n": "2"}
            assert len(story.followed.cache) == 1
            assert [report.connection for report in story.reports] == [ConnectionState.CONNECTED]


async def test_an_event_without_end_is_given_up(tmp_path: Path) -> None:
    script = ScriptedWatch(b'{"type":"ADDED","object":"' + b"x" * (17 << 20))
    async with serving(script.answer, tmp_path) as access:
        story = told_to(Setting(), access, "odd")
        async with story.client.running():
            await until(lambda: script.lists == 2)
            assert story.followed.reflector.counts.garbage == 1


async def test_an_event_at_the_end_of_a_stream_that_broke_off_is_not_believed(tmp_path: Path) -> None:
    script = ScriptedWatch(b'{"type":"ADDED","object":{"apiVersion":"v1","kind":"ConfigMap",' + METADATA + b"}}")
    async with serving(script.answer, tmp_path) as access:
        story = told_to(Setting(), access, "odd")
        async with story.client.running():
            await until(lambda: story.followed.reflector.counts.watches == 2)
            assert len(story.followed.cache) == 1


async def test_a_rejected_token_from_a_file_is_read_again_at_once(tmp_path: Path) -> None:
    token_file = tmp_path / "token"
    token_file.write_text("old")
    script = ScriptedWatch()
    accepted = "Bearer old"

    async def guard(request: web.BaseRequest) -> web.StreamResponse:
        if request.headers.get("Authorization") != accepted:
            return web.Response(status=401, body=b'{"kind":"Status","message":"Unauthorized","reason":"Unauthorized"}')
        return await script.answer(request)

    async with serving(guard, tmp_path) as access:
        story = told_to(Setting(), ClusterAccess(access.server, ca=access.ca, token_file=token_file), "odd")
        async with story.client.running():
            await story.connected()
            accepted = "Bearer new"
            token_file.write_text("new")
            pages = [page async for page in story.followed.resource.pages()]
            assert len(pages) == 1
            assert [report.connection for report in story.reports] == [ConnectionState.CONNECTED]
