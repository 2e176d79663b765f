"""The HTTP side of a cluster: reads requests from sockets, and writes what the API server answers."""

import asyncio
from urllib.parse import parse_qs, unquote

import orjson
from aiohttp import web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http_parser import RawRequestMessage
from aiohttp.streams import StreamReader
from aiohttp.web_protocol import RequestHandler
from multidict import CIMultiDict

from localcluster.kinds.api_errors import ApiError, entity_too_large
from localcluster.serving.requests import Reply, ServerRequest, reply_to
from localcluster.serving.server import ApiServer, OpenedWatch, SeveredAnswer
from localcluster.serving.streams import send_watch

BODY_LIMIT = 3 * 1024 * 1024


class HttpFrontend:
    """Serves one cluster over HTTP."""

    def __init__(self, server: ApiServer) -> None:
        self._server = server

    def protocol_factory(self) -> web.Server:
        """Return what a listening socket needs."""
        return web.Server(
            self.handle,
            request_factory=_make_request,
            handler_cancellation=True,
            access_log=None,
            max_line_size=64 * 1024,
            max_field_size=64 * 1024,
        )

    async def handle(self, raw: web.BaseRequest) -> web.StreamResponse:
        """Answer one request."""
        try:
            request = await _read(raw)
        except ApiError as error:
            return self._respond(reply_to(error))
        except web.HTTPRequestEntityTooLarge:
            return self._respond(reply_to(entity_too_large(BODY_LIMIT)))
        answer = await self._server.answer(request)
        if isinstance(answer, SeveredAnswer):
            return await _sever(raw, answer.content)
        if isinstance(answer, OpenedWatch):
            try:
                return await send_watch(raw, answer.stream, self._headers(answer.content_type), answer.effects)
            finally:
                self._server.watches.close(answer.stream)
        return self._respond(answer)

    def _headers(self, content_type: str) -> CIMultiDict[str]:
        return CIMultiDict(
            {"Content-Type": content_type, "Cache-Control": "no-cache, private", "Date": self._server.date()}
        )

    def _respond(self, reply: Reply) -> web.Response:
        headers = self._headers(reply.content_type)
        for warning in reply.warnings:
            headers.add("Warning", f"299 - {orjson.dumps(warning).decode()}")
        if reply.retry_after is not None:
            headers["Retry-After"] = str(reply.retry_after)
        return web.Response(body=reply.body, status=reply.status, headers=headers)


async def _read(raw: web.BaseRequest) -> ServerRequest:
    path, _, query_text = raw.raw_path.partition("?")
    return ServerRequest(
        raw.method,
        unquote(path) if "%" in path else path,
        parse_qs(query_text, keep_blank_values=True) if query_text else {},
        await _read_body(raw),
        raw.headers.get("Content-Type", ""),
        raw.headers.get("User-Agent", ""),
        raw.headers.get("Authorization", ""),
        raw.headers.get("Accept", ""),
    )


def _make_request(
    message: RawRequestMessage,
    payload: StreamReader,
    protocol: RequestHandler,
    writer: AbstractStreamWriter,
    task: "asyncio.Task[None]",
) -> web.BaseRequest:
    loop = asyncio.get_running_loop()
    return web.BaseRequest(message, payload, protocol, writer, task, loop, client_max_size=BODY_LIMIT)


async def _read_body(raw: web.BaseRequest) -> bytes:
    if not raw.can_read_body:
        return b""
    if (raw.content_length or 0) > BODY_LIMIT:
        raise entity_too_large(BODY_LIMIT)
    return await raw.read()


async def _sever(raw: web.BaseRequest, content: bytes) -> web.StreamResponse:
    """End the connection; the handler is cancelled once it has ended."""
    if raw.transport is not None and content:
        raw.transport.write(content)
        raw.transport.close()
    elif raw.transport is not None:
        raw.transport.abort()
    never: asyncio.Future[web.StreamResponse] = asyncio.get_running_loop().create_future()
    return await never
