"""The `Authorization` header of one cluster: fixed, from a file, or from an exec plugin; renewed before it ends.

A client certificate needs no header: it is part of the TLS context. Invariants: at most one renewal is on its way
however many calls wait for it; a failed one is not repeated within `_FAILURE_PAUSE`; errors never hold what was read.
"""

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, Protocol

from config.api.meta import NANOSECONDS
from config.kubeconfig.credentials import CredentialError, parse_token_file, reread_token_file_at
from config.kubeconfig.sources import read_token_file
from config.reading.files import UnreadableFileError
from workerclient.base.clock import Clock
from workerclient.base.errors import Operation, Unauthenticated
from workerclient.transport.file_threads import in_file_thread

_FAILURE_PAUSE: Final = timedelta(seconds=10)
_LONGEST_SECONDS: Final = 40.0
"""Longer than an exec plugin may take; a file on a mount whose server is gone takes for ever."""


@dataclass(frozen=True, slots=True)
class Token:
    """A bearer token and when to fetch the next one; None stands for when this one is no longer accepted."""

    secret: str = field(repr=False)
    renew_at: datetime | None


class TokenSource(Protocol):
    """Where tokens come from."""

    remedy: str
    """What an operator can do when no token can be obtained."""

    async def fetch(self, now: datetime) -> Token:
        """Return a fresh token, or raise `CredentialError`."""
        ...


class Credentials(Protocol):
    """What a session needs to prove who we are."""

    async def authorization(self, operation: Operation) -> str | None:
        """Return the value of the header, None when there is none to send."""
        ...

    def reject(self, authorization: str | None) -> bool:
        """Note that the server rejected this value; return whether another can be fetched."""
        ...


class FixedCredentials:
    """A token that the kubeconfig holds, or none."""

    def __init__(self, token: str | None) -> None:
        self._authorization = None if token is None else f"Bearer {token}"

    async def authorization(self, operation: Operation) -> str | None:  # noqa: ARG002 - nothing here can fail
        """Return the value of the header."""
        return self._authorization

    def reject(self, authorization: str | None) -> bool:  # noqa: ARG002 - there is only this one
        """Return False: no other token can be fetched."""
        return False


class FetchedCredentials:
    """Tokens from a source, fetched when first needed, before they end, and once when one is rejected."""

    def __init__(self, source: TokenSource, clock: Clock) -> None:
        self._source = source
        self._clock = clock
        self._turn = asyncio.Lock()
        self._current: str | None = None
        self._renew_at: datetime | None = None
        self._failure: tuple[CredentialError, datetime] | None = None

    async def authorization(self, operation: Operation) -> str | None:
        """Return the value of the header; raises `Unauthenticated` when no token can be obtained."""
        if self._is_fresh():
            return self._current
        try:
            async with self._turn:
                if not self._is_fresh():
                    await self._renew()
        except CredentialError as error:
            raise Unauthenticated(operation, str(error), remedy=self._source.remedy) from error
        except Exception as error:
            # What the error says may hold what was read.
            problem = f"no token could be obtained: {type(error).__name__}"
            raise Unauthenticated(operation, problem, remedy=self._source.remedy) from error
        return self._current

    def reject(self, authorization: str | None) -> bool:
        """Forget the token if it is the one in use, so that the next call fetches another."""
        if authorization == self._current:
            self._current = None
        return True

    def _is_fresh(self) -> bool:
        return self._current is not None and (self._renew_at is None or self._now() < self._renew_at)

    async def _renew(self) -> None:
        now = self._now()
        if self._failure is not None and now < self._failure[1]:
            raise self._failure[0]
        try:
            token = await self._fetched(now)
        except CredentialError as error:
            self._failure = (error, now + _FAILURE_PAUSE)
            raise
        self._failure = None
        self._current, self._renew_at = f"Bearer {token.secret}", token.renew_at

    async def _fetched(self, now: datetime) -> Token:
        try:
            async with self._clock.timeout(_LONGEST_SECONDS):
                return await self._source.fetch(now)
        except TimeoutError as error:
            raise CredentialError(f"no token was obtained within {_LONGEST_SECONDS:g} s") from error

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock.now_ns() / NANOSECONDS, UTC)


class TokenFile:
    """A file that something else keeps up to date, such as the token of a pod's service account."""

    remedy = "check the file that is named as the token file"

    def __init__(self, path: Path) -> None:
        self._path = path

    async def fetch(self, now: datetime) -> Token:
        """Return what the file holds now."""
        try:
            content = await in_file_thread(self._path, read_token_file, self._path)
        except UnreadableFileError as error:
            raise CredentialError(f"the token file cannot be read: it {error}") from error
        credential = parse_token_file(content)
        return Token(credential.token or "", reread_token_file_at(credential, now))
