"""Asks the hub from time to time what we may do there, and says by name what is missing."""

import asyncio
from collections.abc import Iterable
from typing import Final

from manager.logs import get_log
from manager.permissions import complaint_about_hub
from workerclient.clock import Clock
from workerclient.cluster import ClusterClient
from workerclient.errors import ClusterError
from workerclient.preflight import Need

_ASK_AGAIN_SECONDS: Final = 60.0
_SURE_SECONDS: Final = 600.0


class HubPermissions:
    """What the hub was last found not to allow."""

    def __init__(self, hub: ClusterClient, needs: Iterable[Need], clock: Clock) -> None:
        self._hub = hub
        self._needs = tuple(needs)
        self._clock = clock
        self.complaint = ""

    async def run(self, connected: asyncio.Event) -> None:
        """Ask once the hub is there, and again and again until cancelled, more often while something is missing."""
        await connected.wait()
        while True:
            await self._ask()
            await self._clock.sleep(_ASK_AGAIN_SECONDS if self.complaint else _SURE_SECONDS)

    async def _ask(self) -> None:
        try:
            found = complaint_about_hub(await self._hub.missing_permissions(self._needs))
        except ClusterError:
            return  # a hub that does not tell is told by its refusals
        if found and found != self.complaint:
            get_log().error("hub.forbids", problem=found)
        self.complaint = found
