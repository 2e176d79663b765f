"""Who asked a cluster for what, and how often: for those who want to know what their client costs an API server."""

from collections import Counter
from typing import NamedTuple


class RequestClass(NamedTuple):
    """What requests are counted by; documents that are no objects (discovery, OpenAPI) have no resource."""

    agent: str
    """The client's name: its User-Agent up to the version."""
    verb: str
    resource: str
    subresource: str = ""


class Traffic:
    """The requests that reached one cluster since it was made."""

    def __init__(self) -> None:
        self._asked: Counter[RequestClass] = Counter()

    def note(self, user_agent: str, verb: str, resource: str, subresource: str = "") -> None:
        """Count one request."""
        self._asked[RequestClass(user_agent.partition("/")[0], verb, resource, subresource)] += 1

    def counts(self) -> Counter[RequestClass]:
        """Return the counts so far."""
        return Counter(self._asked)
