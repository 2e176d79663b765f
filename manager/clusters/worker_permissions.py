"""Asks one worker what Turnstile may do there, and keeps what is missing."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from gates.jobs.kinds import JobKind
from manager.base.retrying import RetriedOperation, until_answered
from manager.clusters.permissions import needs_on_worker
from workerclient.base.errors import ClusterError, Refused
from workerclient.cluster import ClientContext, ClusterClient
from workerclient.questions.preflight import Missing

_ASK_AGAIN_SECONDS: Final = 60.0
"""How long to wait before asking again for permissions that are missing."""


class WorkerPermissions:
    """The permissions that are missing on one worker."""

    def __init__(
        self, client: ClusterClient, context: ClientContext, kinds: Sequence[JobKind], on_change: Callable[[], None]
    ) -> None:
        self.missing: list[Missing] = []
        self._client = client
        self._clock = context.clock
        self._needs = needs_on_worker(kinds)
        self._on_change = on_change
        self._doubted = asyncio.Event()
        self._until_answered = until_answered(
            context,
            RetriedOperation.WORKER_PERMISSIONS,
            unless=Refused,
            sleep=self._until_doubted,
            subject=client.name,
        )

    def doubt(self) -> None:
        """Have the worker asked again soon: the connection is new, or something was refused."""
        self._doubted.set()

    async def run(self) -> None:
        """Ask after every connection and every refusal and, while something is missing, every minute."""
        while True:
            if self.missing:
                await self._clock.sleep(_ASK_AGAIN_SECONDS)
            else:
                await self._doubted.wait()
            try:
                missing: list[Missing] = await self._until_answered(self._ask)
            except ClusterError:
                continue  # a cluster that does not answer shows by its refusals what is missing
            if missing != self.missing:
                self.missing = missing
                self._on_change()

    async def _ask(self) -> list[Missing]:
        self._doubted.clear()
        return await self._client.missing_permissions(self._needs)

    async def _until_doubted(self, seconds: float) -> None:
        """Wait that long, but not longer than until the next connection or refusal."""
        with suppress(TimeoutError):
            async with self._clock.timeout(seconds):
                await self._doubted.wait()
