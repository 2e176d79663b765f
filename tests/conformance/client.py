"""A raw HTTP client of the Kubernetes protocol: it adds no retry, no cache and no opinion to what a server says."""

import asyncio
import io
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from multidict import CIMultiDict

Obj = dict[str, Any]
"""A Kubernetes object, or any other JSON document."""

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"

_DEADLINE_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Reply:
    """What the server answered; `body` is decoded JSON, or text when it is something else."""

    status: int
    headers: CIMultiDict[str]
    body: Any

    def expect(self, status: int) -> Obj:
        """Return the body of an answer that has this status."""
        assert self.status == status, f"want {status}, got {self.status}: {self.body}"
        assert isinstance(self.body, dict), self.body
        return self.body

    def ok(self) -> Obj:
        """Return the body of a plain success."""
        return self.expect(200)

    def error(self, status: int, reason: str) -> Obj:
        """Return a failure's `Status` after checking that it is well formed and says this."""
        body = self.expect(status)
        assert (body["kind"], body["apiVersion"]) == ("Status", "v1")
        assert (body["status"], body["code"], body.get("reason", "")) == ("Failure", status, reason), body
        assert body["message"] or not reason
        return body

    @property
    def warnings(self) -> list[str]:
        """Return the texts of the `Warning` headers."""
        return [json.loads(value.partition("299 - ")[2]) for value in self.headers.getall("Warning", [])]


@dataclass(slots=True)
class Watch:
    """An open watch: events one by one, each with a deadline."""

    _response: aiohttp.ClientResponse
    _seen: list[Obj] = field(default_factory=list)

    @property
    def content_type(self) -> str:
        """Return how the server announced the stream."""
        return self._response.content_type

    async def next(self) -> Obj:
        """Return the next event; fail when the server ends the stream or is silent for too long."""
        event = await self._next_or_end()
        assert event is not None, f"the server ended the watch after {self._seen}"
        return event

    async def next_change(self) -> tuple[str, str]:
        """Return the type of the next event and the name of its object."""
        event = await self.next()
        return event["type"], event["object"]["metadata"]["name"]

    async def rest(self) -> list[Obj]:
        """Return all events up to the end of the stream, which the server must reach by itself."""
        events = []
        while (event := await self._next_or_end()) is not None:
            events.append(event)
        return events

    async def next_or_silence(self) -> Obj | None:
        """Return the next event however long it takes; None when the server ends the stream."""
        line = await self._response.content.readline()
        return json.loads(line) if line else None

    async def _next_or_end(self) -> Obj | None:
        async with asyncio.timeout(_DEADLINE_SECONDS):
            line = await self._response.content.readline()
        if not line:
            return None
        event: Obj = json.loads(line)
        self._seen.append(event)
        return event


@dataclass(frozen=True, slots=True)
class Api:
    """One user's connection to one server."""

    session: aiohttp.ClientSession
    url: str
    token: str | None
    accept: str = JSON
    """What watches ask for; other requests say so one by one."""

    async def request(
        self,
        method: str,
        path: str,
        *,
        body: object = None,
        content_type: str = JSON,
        accept: str = JSON,
        params: Mapping[str, str] | None = None,
    ) -> Reply:
        """Send one request; a body of bytes goes out as it is, anything else as JSON."""
        headers, content = self._headers(accept), None
        if body is not None:
            headers["Content-Type"] = content_type
            content = io.BytesIO(body if isinstance(body, bytes) else json.dumps(body).encode())
        async with self.session.request(
            method, self.url + path, data=content, headers=headers, params=params
        ) as response:
            text = await response.text()
            # Not by content type: a real server sends its OpenAPI index as text/plain.
            return Reply(response.status, response.headers.copy(), json.loads(text) if text[:1] == "{" else text)

    async def get(self, path: str, *, accept: str = JSON, **params: str) -> Reply:
        """Read an object, a list or any document."""
        return await self.request("GET", path, accept=accept, params=params)

    async def post(self, path: str, body: object, **params: str) -> Reply:
        """Create an object."""
        return await self.request("POST", path, body=body, params=params)

    async def put(self, path: str, body: object, **params: str) -> Reply:
        """Replace an object."""
        return await self.request("PUT", path, body=body, params=params)

    async def patch(self, path: str, body: object, content_type: str = MERGE_PATCH, **params: str) -> Reply:
        """Patch an object, with a merge patch unless told otherwise."""
        return await self.request("PATCH", path, body=body, content_type=content_type, params=params)

    async def apply(self, path: str, body: object, manager: str, **params: str) -> Reply:
        """Apply an object server-side on behalf of a field manager."""
        return await self.patch(path, body, APPLY_PATCH, fieldManager=manager, **params)

    async def delete(self, path: str, options: object = None, **params: str) -> Reply:
        """Delete an object or a collection."""
        return await self.request("DELETE", path, body=options, params=params)

    @asynccontextmanager
    async def watch(self, path: str, **params: str) -> AsyncIterator[Watch]:
        """Open a watch, which must be accepted with 200."""
        async with self.session.get(
            self.url + path,
            params={"watch": "true", **params},
            headers=self._headers(self.accept),
            read_bufsize=2**22,
            timeout=aiohttp.ClientTimeout(total=None),
        ) as response:
            assert response.status == 200, await response.text()
            try:
                yield Watch(response)
            finally:
                # A TLS farewell in the middle of a stream would outlive the test's event loop.
                if response.connection is not None and response.connection.transport is not None:
                    response.connection.transport.abort()

    def _headers(self, accept: str) -> dict[str, str]:
        return {"Accept": accept} | ({"Authorization": f"Bearer {self.token}"} if self.token else {})
