"""The `Authorization` header of one cluster: fixed, from a file, or from an exec plugin; renewed before it ends.

A client certificate needs no header: it is part of the TLS context. Invariants: at most one renewal is on its way
however many calls wait for it; a failed one is not repeated within `_FAILURE_PAUSE_SECONDS`; errors never hold what
was read.
"""

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

from workerclient.clock import Clock
from workerclient.errors import Operation, Unauthenticated

_RENEW_BEFORE_SECONDS: Final = 60.0
_TOKEN_FILE_SECONDS: Final = 60.0
_FAILURE_PAUSE_SECONDS: Final = 10.0
_MAX_TOKEN: Final = 64 << 10


@dataclass(frozen=True, slots=True)
class Token:
    """A bearer token and until when it is to be used; None stands for as long as it is accepted."""

    secret: str = field(repr=False)
    use_seconds: float | None = None


class TokenProblemError(Exception):
    """No token could be had; the message is fit for people and holds nothing secret."""

    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.remedy = remedy


class TokenSource(Protocol):
    """Where tokens come from."""

    async def fetch(self) -> Token:
        """Return a fresh token, or raise `TokenProblemError`."""
        ...


class Credentials(Protocol):
    """What a session needs to prove who we are."""

    async def authorization(self, operation: Operation) -> str | None:
        """Return the value of the header, None when there is none to send."""
        ...

    def reject(self, authorization: str | None) -> bool:
        """Take the news that the server did not accept this value; return whether another one may be had."""
        ...


class FixedCredentials:
    """A token that the kubeconfig holds, or none."""

    def __init__(self, token: str | None) -> None:
        self._authorization = None if token is None else bearer(token)

    async def authorization(self, operation: Operation) -> str | None:  # noqa: ARG002 - nothing here can fail
        """Return the value of the header."""
        return self._authorization

    def reject(self, authorization: str | None) -> bool:  # noqa: ARG002 - there is only this one
        """Return that no other token may be had."""
        return False


class FetchedCredentials:
    """Tokens from a source, fetched when first needed, before they end, and once when one is rejected."""

    def __init__(self, source: TokenSource, clock: Clock) -> None:
        self._source = source
        self._clock = clock
        self._turn = asyncio.Lock()
        self._current: str | None = None
        self._renew_at: float | None = None
        self._failure: TokenProblemError | None = None
        self._failed_until = 0.0

    async def authorization(self, operation: Operation) -> str | None:
        """Return the value of the header; raises `Unauthenticated` when there is no token to be had."""
        if self._is_fresh():
            return self._current
        try:
            async with self._turn:
                if not self._is_fresh():
                    await self._renew()
        except TokenProblemError as error:
            raise Unauthenticated(operation, error.problem, remedy=error.remedy) from error
        return self._current

    def reject(self, authorization: str | None) -> bool:
        """Forget the token if it is the one in use, so that the next call fetches another."""
        if authorization == self._current:
            self._current = None
        return True

    def _is_fresh(self) -> bool:
        if self._current is None:
            return False
        return self._renew_at is None or self._clock.monotonic() < self._renew_at

    async def _renew(self) -> None:
        now = self._clock.monotonic()
        if self._failure is not None and now < self._failed_until:
            raise self._failure
        try:
            token = await self._source.fetch()
            self._current = bearer(token.secret)
        except TokenProblemError as error:
            self._failure, self._failed_until = error, now + _FAILURE_PAUSE_SECONDS
            raise
        self._failure = None
        self._renew_at = None if token.use_seconds is None else now + token.use_seconds


class TokenFile:
    """A file that something else keeps up to date, such as the token of a pod's service account."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def fetch(self) -> Token:
        """Return what the file holds now."""
        remedy = "check the file that the kubeconfig names as tokenFile"
        try:
            content = await asyncio.to_thread(self._path.read_bytes)
        except OSError as error:
            raise TokenProblemError(f"the token file cannot be read: {error.strerror}", remedy) from error
        try:
            return Token(content[: _MAX_TOKEN + 1].decode("ascii").strip(), _TOKEN_FILE_SECONDS)
        except UnicodeDecodeError:
            # Without the cause: it would quote what it could not decode.
            raise TokenProblemError("the token file does not hold a token", remedy) from None


def renewal_after(lifetime_seconds: float) -> float:
    """Return after how many seconds a token of that remaining life is renewed: a minute early, or halfway if shorter."""
    return max(lifetime_seconds - _RENEW_BEFORE_SECONDS, lifetime_seconds / 2, 0.0)


def bearer(token: str) -> str:
    """Return the header for a token; raises `TokenProblemError` for what cannot stand in a header."""
    if not token or len(token) > _MAX_TOKEN or not (token.isascii() and token.isprintable()) or " " in token:
        raise TokenProblemError("the token is empty, too long, or holds signs that no token has", "renew the token")
    return f"Bearer {token}"
