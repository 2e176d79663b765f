"""One cluster's way of carrying out a call: budget, breaker, credentials, deadline, then again if that helps.

A transport is immutable: new credentials or a new address make a new one, and the old one is closed when its calls are
over. Invariant: a call returns the JSON of a success or raises a `ClusterError`.
"""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from workerclient import codec
from workerclient.breaker import Breaker
from workerclient.budget import Budget, Lane
from workerclient.credentials import Credentials
from workerclient.errors import ClusterError, ProtocolViolation, error_for
from workerclient.retry import RetryPolicy
from workerclient.session import Answer, Request, Session, Stream


@dataclass(frozen=True, slots=True)
class Transport:
    """What is needed to carry out calls on one cluster."""

    session: Session
    credentials: Credentials
    budget: Budget
    breaker: Breaker
    retry: RetryPolicy

    async def call(self, request: Request, *, lane: Lane = Lane.BULK, repeatable: bool) -> bytes:
        """Return the body of the answer, with as many attempts as do no harm."""
        return await self.retry.call(lambda: self.call_once(request, lane=lane), repeatable=repeatable)

    async def call_once(self, request: Request, *, lane: Lane = Lane.BULK) -> bytes:
        """Return the body of the answer to a single attempt."""
        async with self.budget.admit(lane, request.operation):
            with self.breaker.passage(request.operation):
                authorization = await self.credentials.authorization(request.operation)
                answer = await self.session.send(request, authorization)
                if answer.code == 401 and self.credentials.reject(authorization):
                    authorization = await self.credentials.authorization(request.operation)
                    answer = await self.session.send(request, authorization)
                return _body(request, answer, authorization)

    @asynccontextmanager
    async def watch(self, request: Request) -> AsyncIterator[Stream]:
        """Open a watch; only its opening counts for the budget and the breaker."""
        async with AsyncExitStack() as stack:
            async with self.budget.admit(Lane.URGENT, request.operation):
                with self.breaker.passage(request.operation):
                    stream = await self._open(stack, request)
            yield stream

    async def close(self, *, drain: bool = False) -> None:
        """End the connections, with `drain` after the calls on their way."""
        await self.session.close(drain=drain)

    async def _open(self, stack: AsyncExitStack, request: Request) -> Stream:
        authorization = await self.credentials.authorization(request.operation)
        stream = await stack.enter_async_context(self.session.stream(request, authorization))
        if stream.code == 401 and self.credentials.reject(authorization):
            authorization = await self.credentials.authorization(request.operation)
            stream = await stack.enter_async_context(self.session.stream(request, authorization))
        if stream.code != 200:
            raise _failure(request, await stream.answer(), authorization)
        return stream


def _body(request: Request, answer: Answer, authorization: str | None) -> bytes:
    if not 200 <= answer.code < 300:
        raise _failure(request, answer, authorization)
    if answer.content_type != codec.JSON:
        detail = f"expected JSON, got {answer.content_type}: {codec.sample(answer.body)}"
        raise ProtocolViolation(request.operation, detail)
    return answer.body


def _failure(request: Request, answer: Answer, authorization: str | None) -> ClusterError:
    body = answer.body
    if authorization is not None:
        body = body.replace(authorization.partition(" ")[2].encode(), b"[token]")
    status = codec.decode_status(body)
    if status is None and body:
        status_line = f"HTTP {answer.code} with {answer.content_type} where a Status belongs: {codec.sample(body)}"
        return error_for(request.operation, answer.code, None, answer.retry_after, status_line)
    return error_for(request.operation, answer.code, status, answer.retry_after)
