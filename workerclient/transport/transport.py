"""One cluster's way of carrying out a call: budget, breaker, credentials, deadline, then again if that helps.

A transport is immutable: new credentials or a new address make a new one, and the old one is closed when its calls are
over. Invariant: a call returns the JSON of a success or raises a `ClusterError`.
"""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from workerclient.base.errors import ClusterError, ProtocolViolation, error_for
from workerclient.transport.breaker import Breaker
from workerclient.transport.budget import RequestBudget, RequestPriority
from workerclient.transport.credentials import Credentials
from workerclient.transport.retry import RetryPolicy
from workerclient.transport.session import Answer, Request, Session, Stream
from workerclient.wire import codec


@dataclass(frozen=True, slots=True)
class Transport:
    """What is needed to carry out calls on one cluster."""

    session: Session
    credentials: Credentials
    budget: RequestBudget
    breaker: Breaker
    retry: RetryPolicy

    async def call(
        self, request: Request, *, priority: RequestPriority = RequestPriority.BULK, repeatable: bool
    ) -> bytes:
        """Return the body of the answer, with as many attempts as do no harm."""
        return await self.retry.call(lambda: self.call_once(request, priority=priority), repeatable=repeatable)

    async def call_once(self, request: Request, *, priority: RequestPriority = RequestPriority.BULK) -> bytes:
        """Return the body of the answer to a single attempt."""
        async with self.budget.admit(priority, request.operation):
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
            async with self.budget.admit(RequestPriority.URGENT, request.operation):
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
    is_plain_text = request.may_be_plain_text and answer.content_type == codec.PLAIN_TEXT
    if answer.content_type != codec.JSON and not is_plain_text:
        detail = f"expected JSON, got {answer.content_type}: {codec.sample(answer.body)}"
        raise ProtocolViolation(request.operation, detail)
    return answer.body


def _failure(request: Request, answer: Answer, authorization: str | None) -> ClusterError:
    body = answer.body
    if authorization is not None:
        body = body.replace(authorization.partition(" ")[2].encode(), b"[token]")
    status = codec.decode_status(body)
    if status is None and body:
        status_line = f"HTTP {answer.code} with {answer.content_type} instead of a Status: {codec.sample(body)}"
        return error_for(request.operation, answer.code, None, answer.retry_after, status_line)
    return error_for(request.operation, answer.code, status, answer.retry_after)
