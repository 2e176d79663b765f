"""When each worker's credential expires, and a daily warning shortly before.

A token file is left out: it is renewed from outside. So is what an exec plugin prints, which is asked for in time.
"""

from collections.abc import Mapping
from typing import Final, Protocol

from config.api.identifiers import WorkerName
from config.api.meta import format_time
from config.kubeconfig.access import ClusterAccess
from config.kubeconfig.credentials import token_expiry
from gates.model.settings import SECOND
from manager.logging.logs import get_log
from workerclient.base.clock import Clock
from workerclient.questions.handshake import first_end

NOTICE_SECONDS: Final = 14 * 24 * 3600
_DAY_SECONDS: Final = 24 * 3600.0
_LOOK_SECONDS: Final = 3600.0


def credential_ends_ns(access: ClusterAccess) -> int | None:
    """Return when a kubeconfig's token or client certificate expires; None if it does not say."""
    ends: list[int | None] = []
    if access.token is not None and (until := token_expiry(access.token)) is not None:
        ends.append(int(until.timestamp()) * SECOND)
    certificate = access.client_certificate
    if certificate is not None and isinstance(certificate.certificate, bytes):
        ends.append(first_end(certificate.certificate))
    return min((end for end in ends if end is not None), default=None)


class Accessible(Protocol):
    """A worker and how it is accessed."""

    access: ClusterAccess


class CredentialWatch:
    """Warns about credentials that expire soon."""

    def __init__(self, links: Mapping[WorkerName, Accessible], clock: Clock) -> None:
        self._links = links
        self._clock = clock
        self._warned: dict[str, float] = {}

    async def run(self) -> None:
        """Check periodically until cancelled."""
        while True:
            self._look()
            await self._clock.sleep(_LOOK_SECONDS)

    def _look(self) -> None:
        now_ns, now = self._clock.now_ns(), self._clock.monotonic()
        self._warned = {name: at for name, at in self._warned.items() if name in self._links}
        for name, link in sorted(self._links.items()):
            ends_ns = credential_ends_ns(link.access)
            if ends_ns is None or ends_ns - now_ns > NOTICE_SECONDS * SECOND:
                self._warned.pop(name, None)
            elif now - self._warned.get(name, -_DAY_SECONDS) >= _DAY_SECONDS:
                self._warned[name] = now
                get_log().warning(
                    "worker.credential_ends",
                    worker=name,
                    at=format_time(ends_ns),
                    days_left=max(0, (ends_ns - now_ns) // (int(_DAY_SECONDS) * SECOND)),
                    remedy=f"turnstile worker rotate {name}",
                )
