"""A ConfigMap of the daemon on the hub, in which something is remembered over restarts."""

from config.api.meta import Obj, ObjectKey
from manager.base.kinds import CONFIG_MAPS
from manager.clusters.hub import HubLink
from workerclient.base.errors import NotFound
from workerclient.objects.resource import Precondition, Resource


class HubStore:
    """One ConfigMap in the daemon's namespace."""

    def __init__(self, hub: HubLink, name: str) -> None:
        self._key = ObjectKey(hub.namespace, name)
        self._resource: Resource[Obj] = hub.client.resource(CONFIG_MAPS)

    async def read(self) -> dict[str, str]:
        """Return what is remembered; raises `ClusterError` if the hub does not say."""
        try:
            data = (await self._resource.get(self._key)).get("data") or {}
        except NotFound:
            return {}
        return {str(name): str(value) for name, value in data.items()}

    async def write(self, data: dict[str, str]) -> None:
        """Remember this and nothing else; raises `ClusterError`, `Conflict` if another one wrote meanwhile."""
        try:
            present = await self._resource.get(self._key)
        except NotFound:
            metadata = {"name": self._key.name, "namespace": self._key.namespace}
            await self._resource.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})
            return
        metadata = present["metadata"]
        fence = Precondition(metadata["uid"], metadata["resourceVersion"])
        await self._resource.json_patch(self._key, [{"op": "add", "path": "/data", "value": data}], fence)
