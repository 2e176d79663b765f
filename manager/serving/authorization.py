"""Who may read over HTTP: the bearer of the token in a file, or a user that the hub authorizes.

What the hub answered is cached for a short time, in bounded memory, and refusals apart from the rest, so that a flood
of bad tokens causes at most a few requests per second and evicts no good ones. Tokens are kept as digests only.
"""

import hmac
from collections.abc import Hashable
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from typing import Final, Generic, Protocol, TypeVar

from config.kubeconfig.access import ClusterAccess
from config.reading.files import UnreadableFileError, read_bounded
from manager.base.errors import StartupError
from manager.logging.logs import get_log
from workerclient.base.clock import Clock
from workerclient.base.errors import ClusterError
from workerclient.cluster import ClientContext, ClientLimits, ClusterClient
from workerclient.questions.reviews import ReviewedUser
from workerclient.transport.budget import BudgetLimits

_LONGEST_TOKEN: Final = 4096
_SHORTEST_TOKEN: Final = 16
_GRANTED_SECONDS: Final = 60.0
_REFUSED_SECONDS: Final = 10.0
_REMEMBERED: Final = 1024
_WARNING_SECONDS: Final = 60.0
_REVIEW_LIMITS: Final = ClientLimits(
    budget=BudgetLimits(queries_per_second=20.0, burst=40, in_flight=8, longest_wait_seconds=1.0)
)
"""A separate budget: clients must not use up the daemon's budget on the hub."""

Name = TypeVar("Name", bound=Hashable)
Value = TypeVar("Value")


class AuthorizationResult(StrEnum):
    """The decision about a request."""

    ALLOWED = "allowed"
    UNKNOWN = "unknown"
    """The token is missing or not known."""
    FORBIDDEN = "forbidden"
    UNSURE = "unsure"
    """The hub could not be asked."""


class Authorizer(Protocol):
    """Decides who may read."""

    async def authorize(self, token: str, path: str) -> AuthorizationResult:
        """Decide about the bearer of a token, which is empty if there was none."""
        ...


class TokenFileAuthorizer:
    """Allows the bearer of the token in a file."""

    def __init__(self, path: Path) -> None:
        self._wanted = sha256(_token_in(path)).digest()

    async def authorize(self, token: str, path: str) -> AuthorizationResult:  # noqa: ARG002 - the token opens every path
        """Decide about the bearer of a token, in the same time whatever it is."""
        matches = hmac.compare_digest(sha256(token.encode("utf-8", "surrogateescape")).digest(), self._wanted)
        return AuthorizationResult.ALLOWED if matches else AuthorizationResult.UNKNOWN


def _token_in(path: Path) -> bytes:
    try:
        content = read_bounded(path, _LONGEST_TOKEN).strip()
    except UnreadableFileError as error:
        raise StartupError(f'http.tokenFile: the file "{path}" {error}') from error
    if len(content) < _SHORTEST_TOKEN or not all(0x21 <= each <= 0x7E for each in content):
        raise StartupError(
            f'http.tokenFile: the file "{path}" must hold one token of at least {_SHORTEST_TOKEN} visible ASCII '
            "characters, without spaces"
        )
    return content


class HubAuthorizer:
    """Asks the hub who bears a token, and whether that user may `get` the path."""

    def __init__(self, access: ClusterAccess, context: ClientContext, audiences: tuple[str, ...]) -> None:
        self._client = ClusterClient("hub", access, context, _REVIEW_LIMITS)
        self._clock = context.clock
        self._audiences = audiences
        self._bearers: _ShortMemory[bytes, ReviewedUser] = _ShortMemory(self._clock, _GRANTED_SECONDS)
        self._unknown: _ShortMemory[bytes, bool] = _ShortMemory(self._clock, _REFUSED_SECONDS)
        self._allowed: _ShortMemory[tuple[ReviewedUser, str], bool] = _ShortMemory(self._clock, _GRANTED_SECONDS)
        self._forbidden: _ShortMemory[tuple[ReviewedUser, str], bool] = _ShortMemory(self._clock, _REFUSED_SECONDS)
        self._silent_until = float("-inf")

    async def close(self) -> None:
        """End the connections to the hub."""
        await self._client.close()

    async def authorize(self, token: str, path: str) -> AuthorizationResult:
        """Decide about the bearer of a token."""
        if not token:
            return AuthorizationResult.UNKNOWN
        try:
            user = await self._bearer(token)
            if user is None:
                return AuthorizationResult.UNKNOWN
            return AuthorizationResult.ALLOWED if await self._may(user, path) else AuthorizationResult.FORBIDDEN
        except ClusterError as error:
            self._warn(error)
            return AuthorizationResult.UNSURE

    async def _bearer(self, token: str) -> ReviewedUser | None:
        digest = sha256(token.encode("utf-8", "surrogateescape")).digest()
        if (known := self._bearers.get(digest)) is not None:
            return known
        if self._unknown.get(digest):
            return None
        found = await self._client.bearer_of(token, self._audiences)
        if found is None:
            self._unknown.put(digest, value=True)
        else:
            self._bearers.put(digest, found)
        return found

    async def _may(self, user: ReviewedUser, path: str) -> bool:
        asked = (user, path)
        if self._allowed.get(asked):
            return True
        if self._forbidden.get(asked):
            return False
        allowed = await self._client.may_use_path(user, "get", path)
        (self._allowed if allowed else self._forbidden).put(asked, value=True)
        return allowed

    def _warn(self, error: ClusterError) -> None:
        """Log what is wrong, but not for every request."""
        now = self._clock.monotonic()
        if now >= self._silent_until:
            self._silent_until = now + _WARNING_SECONDS
            get_log().warning("http.unchecked", error=str(error))


class _ShortMemory(Generic[Name, Value]):
    """Remembers for a while; the oldest goes when it is full."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        self._clock = clock
        self._seconds = seconds
        self._known: dict[Name, tuple[float, Value]] = {}

    def get(self, name: Name) -> Value | None:
        """Return what is remembered and still good."""
        until, value = self._known.get(name, (float("-inf"), None))
        return value if self._clock.monotonic() < until else None

    def put(self, name: Name, value: Value) -> None:
        """Remember something from now on."""
        self._known.pop(name, None)
        self._known[name] = (self._clock.monotonic() + self._seconds, value)
        if len(self._known) > _REMEMBERED:
            del self._known[next(iter(self._known))]
