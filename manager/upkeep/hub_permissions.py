"""Periodically checks our permissions on the hub, and reports missing ones by name."""

import asyncio
from collections.abc import Iterable
from typing import Final

from manager.base.retrying import RetriedOperation, until_answered
from manager.clusters.permissions import complaint_about_hub
from manager.logging.logs import get_log
from workerclient.base.errors import ClusterError, Refused
from workerclient.cluster import ClientContext, ClusterClient
from workerclient.questions.preflight import Need

_ASK_AGAIN_SECONDS: Final = 60.0
_SURE_SECONDS: Final = 600.0


class HubPermissions:
    """What the hub was last found not to allow."""

    def __init__(self, hub: ClusterClient, needs: Iterable[Need], context: ClientContext) -> None:
        self._hub = hub
        self._needs = tuple(needs)
        self._clock = context.clock
        self._until_answered = until_answered(context, RetriedOperation.HUB_PERMISSIONS, unless=Refused)
        self.complaint = ""

    async def run(self, connected: asyncio.Event) -> None:
        """Check once the hub is connected, then periodically until cancelled; more often while something is missing."""
        await connected.wait()
        while True:
            await self._ask()
            await self._clock.sleep(_ASK_AGAIN_SECONDS if self.complaint else _SURE_SECONDS)

    async def _ask(self) -> None:
        try:
            found = complaint_about_hub(await self._until_answered(self._hub.missing_permissions, self._needs))
        except ClusterError:
            return  # without an answer, refused requests show what is missing
        if found and found != self.complaint:
            get_log().error("hub.forbids", problem=found)
        self.complaint = found
