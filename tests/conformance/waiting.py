"""Waiting for what a server does by itself, after its answer."""

import asyncio
from collections.abc import Callable

from tests.conformance.client import Api, Obj

_DEADLINE_SECONDS = 10.0
_POLL_SECONDS = 0.01


async def until(api: Api, path: str, holds: Callable[[Obj], bool]) -> None:
    """Return once the object at the path is as wanted."""
    async with asyncio.timeout(_DEADLINE_SECONDS):
        while not holds((await api.get(path)).ok()):
            await asyncio.sleep(_POLL_SECONDS)


async def until_gone(api: Api, path: str) -> None:
    """Return once there is nothing at the path."""
    async with asyncio.timeout(_DEADLINE_SECONDS):
        while (await api.get(path)).status != 404:
            await asyncio.sleep(_POLL_SECONDS)
