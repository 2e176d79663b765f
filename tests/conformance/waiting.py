"""Waiting for what a server does by itself, after its answer."""

from collections.abc import Callable

from tests.conformance.client import Api, Obj


async def until(api: Api, path: str, holds: Callable[[Obj | None], bool]) -> None:
    """Return once the object at the path is as wanted; it is None while there is no such object."""
    collection, _, name = path.rpartition("/")
    selector = f"metadata.name={name}"
    found = (await api.get(collection, fieldSelector=selector)).ok()
    obj: Obj | None = next(iter(found["items"]), None)
    version = found["metadata"]["resourceVersion"]
    async with api.watch(collection, fieldSelector=selector, resourceVersion=version) as watch:
        while not holds(obj):
            event = await watch.next()
            obj = None if event["type"] == "DELETED" else event["object"]


async def until_gone(api: Api, path: str) -> None:
    """Return once there is nothing at the path."""
    await until(api, path, lambda obj: obj is None)
