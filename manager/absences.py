"""Since when each worker has been missing, kept on the hub so that a restart does not begin the grace anew.

A ConfigMap holds one time per missing worker. A worker whose MultiKueueCluster or kubeconfig vanished counts as missing
like any other, so that its Workloads are queued again in finite time.
"""

import asyncio
from typing import TYPE_CHECKING, Final

from gates.settings import MINUTE
from manager.hub import HubLink
from manager.kinds import CONFIG_MAPS
from manager.logs import get_log
from workerclient.clock import Clock
from workerclient.errors import ClusterError, Conflict, NotFound
from workerclient.kind import Key
from workerclient.resource import Precondition, Resource

if TYPE_CHECKING:
    from workerclient.codec import Raw

NAME: Final = "turnstile-missing-workers"
_SETTLING_SECONDS: Final = 5.0
"""A worker that comes back within this is not written down."""
_TRY_AGAIN_SECONDS: Final = 60.0
_RECONNECT_NS: Final = MINUTE
"""After a start every worker gets this long to connect, whatever was written down."""


class Absences:
    """The times of loss."""

    def __init__(self, hub: HubLink, clock: Clock, grace_ns: int) -> None:
        self._clock = clock
        self._grace_ns = grace_ns
        self._started_ns = clock.now_ns()
        self._since: dict[str, int] = {}
        self._written: dict[str, str] = {}
        self._key = Key(hub.namespace, NAME)
        self._resource: Resource[Raw] = hub.client.resource(CONFIG_MAPS)
        self._changed = asyncio.Event()

    async def load(self) -> None:
        """Read what was written down before; one that cannot be read counts as empty, and the grace begins now."""
        try:
            data = (await self._resource.get(self._key)).get("data") or {}
        except NotFound:
            return
        except ClusterError as error:
            get_log().warning("absences.unreadable", error=str(error))
            return
        self._written = {str(name): str(value) for name, value in data.items()}
        for name, value in self._written.items():
            if value.isdigit():
                self._since.setdefault(name, int(value))

    def change_grace(self, grace_ns: int) -> None:
        """Give missing workers that long from now on."""
        self._grace_ns = grace_ns

    def missing_since(self, name: str) -> int:
        """Return since when a worker has been missing; asked for one that is not known to be missing, since now."""
        since = self.note(name)
        # Time that passed while nobody tried to connect is not held against the worker.
        return max(since, self._started_ns + min(_RECONNECT_NS, self._grace_ns) - self._grace_ns)

    def note(self, name: str, since_ns: int | None = None) -> int:
        """Take note that a worker is missing; the first time counts."""
        if name not in self._since:
            self._since[name] = since_ns if since_ns is not None else self._clock.now_ns()
            self._changed.set()
        return self._since[name]

    def forget(self, name: str) -> None:
        """Take note that a worker is there."""
        if self._since.pop(name, None) is not None:
            self._changed.set()

    async def run(self) -> None:
        """Write changes down until cancelled."""
        while True:
            await self._changed.wait()
            await self._clock.sleep(_SETTLING_SECONDS)
            self._changed.clear()
            wanted = {name: str(since) for name, since in self._since.items()}
            if wanted == self._written:
                continue
            try:
                await self._write(wanted)
                self._written = wanted
            except ClusterError as error:
                get_log().warning("absences.unwritten", error=str(error))
                await self._clock.sleep(_TRY_AGAIN_SECONDS)
                self._changed.set()

    async def _write(self, wanted: dict[str, str]) -> None:
        try:
            present = await self._resource.get(self._key)
        except NotFound:
            metadata = {"name": self._key.name, "namespace": self._key.namespace}
            await self._resource.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": wanted})
            return
        metadata = present["metadata"]
        fence = Precondition(metadata["uid"], metadata["resourceVersion"])
        operations = [{"op": "add", "path": "/data", "value": wanted}]
        try:
            await self._resource.json_patch(self._key, operations, fence)
        except Conflict:
            self._changed.set()
