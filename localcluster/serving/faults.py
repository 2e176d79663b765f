"""Trouble on purpose: what can go wrong between a client and a cluster, injected in the server.

A fault has an effect and says which requests it strikes and how often. Without faults a request pays for one
comparison. Latency runs on the cluster's clock.
"""

from dataclasses import dataclass, field
from typing import assert_never

from localcluster.kinds.api_errors import ApiError, internal, too_many_requests


@dataclass(frozen=True, slots=True)
class Latency:
    """The answer comes late."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Throttle:
    """The answer is 429 with Retry-After."""

    retry_after: int = 1


@dataclass(frozen=True, slots=True)
class ServerError:
    """The answer is 500."""

    message: str = "injected"


@dataclass(frozen=True, slots=True)
class Gone:
    """A list answers 410; a watch begins with an ERROR event that says so."""


@dataclass(frozen=True, slots=True)
class Drop:
    """The connection breaks: at once, or for a watch after so many chunks."""

    after_chunks: int = 0


@dataclass(frozen=True, slots=True)
class HalfOpen:
    """The server stops talking but keeps the connection: at once, or for a watch after so many chunks."""

    after_chunks: int = 0


@dataclass(frozen=True, slots=True)
class StaleList:
    """A list or get shows the state of an older revision, as a lagging replica would."""

    revision: int


@dataclass(frozen=True, slots=True)
class RawAnswer:
    """These bytes are the answer, and then the connection ends."""

    content: bytes


Effect = Latency | Throttle | ServerError | Gone | Drop | HalfOpen | StaleList | RawAnswer


@dataclass(eq=False, slots=True)
class Fault:
    """An effect, the requests that it strikes, and how many more of them; None means until it is removed."""

    effect: Effect
    verb: str | None = None
    plural: str | None = None
    namespace: str | None = None
    name: str | None = None
    subresource: str | None = None
    path: str | None = None
    times: int | None = None
    hits: int = field(default=0, init=False)

    def strikes(self, struck: "Strikable") -> bool:
        """Return whether the request is one of those."""
        if self.times is not None and self.hits >= self.times:
            return False
        return (
            self.verb in (None, struck.verb)
            and self.plural in (None, struck.plural)
            and self.namespace in (None, struck.namespace)
            and self.name in (None, struck.name)
            and self.subresource in (None, struck.subresource)
            and (self.path is None or struck.path.startswith(self.path))
        )


@dataclass(frozen=True, slots=True)
class Strikable:
    """What a fault may match in a request; a path of no resource has only its path."""

    path: str
    verb: str = ""
    plural: str = ""
    namespace: str = ""
    name: str = ""
    subresource: str = ""


class Faults:
    """The faults of one cluster."""

    def __init__(self) -> None:
        self._faults: list[Fault] = []

    def __bool__(self) -> bool:
        """Return whether there is any fault."""
        return bool(self._faults)

    def add(
        self,
        effect: Effect,
        *,
        verb: str | None = None,
        plural: str | None = None,
        namespace: str | None = None,
        name: str | None = None,
        subresource: str | None = None,
        path: str | None = None,
        times: int | None = None,
    ) -> Fault:
        """Strike the requests that match everything given, so many times, until removed."""
        fault = Fault(effect, verb, plural, namespace, name, subresource, path, times)
        self._faults.append(fault)
        return fault

    def remove(self, fault: Fault) -> None:
        """Strike no more; removing twice does no harm."""
        if fault in self._faults:
            self._faults.remove(fault)

    def clear(self) -> None:
        """Remove every fault."""
        self._faults.clear()

    def striking(self, struck: Strikable) -> list[Effect]:
        """Return the effects on a request and count them as hits; used-up faults disappear."""
        effects = []
        for fault in list(self._faults):
            if fault.strikes(struck):
                fault.hits += 1
                effects.append(fault.effect)
                if fault.times is not None and fault.hits >= fault.times:
                    self._faults.remove(fault)
        return effects


def refusal(effect: Effect) -> ApiError | None:
    """Return the error that an effect answers with, None if it does something else."""
    match effect:
        case Throttle():
            return too_many_requests(effect.retry_after)
        case ServerError():
            return internal(effect.message)
        case Latency() | Gone() | Drop() | HalfOpen() | StaleList() | RawAnswer():
            return None
        case _:
            assert_never(effect)
