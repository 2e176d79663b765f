"""A kind with a field of every list type, and what tests of the store and the server need to begin."""

import asyncio
import ssl
from collections.abc import Callable
from datetime import UTC, datetime

import aiohttp

from config.api.meta import Obj
from localcluster.catalogue.registry import all_kinds
from localcluster.cluster import LocalCluster
from localcluster.kinds.clock import ManualClock
from localcluster.kinds.kinds import ServedKind
from localcluster.kinds.schema import Schema
from localcluster.store.store import Store

START = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)

_TEXT = Schema("string")
WIDGET = ServedKind(
    group="example.dev",
    version="v1",
    kind="Widget",
    plural="widgets",
    singular="widget",
    namespaced=True,
    has_status=True,
    schema=Schema(
        "object",
        properties={
            "spec": Schema(
                "object",
                properties={
                    "size": Schema("integer"),
                    "colour": Schema("string", default="grey"),
                    "tags": Schema("array", list_type="set", items=_TEXT),
                    "steps": Schema("array", items=_TEXT),
                    "parts": Schema(
                        "array",
                        list_type="map",
                        list_keys=("name",),
                        items=Schema("object", properties={"name": _TEXT, "count": Schema("integer")}),
                    ),
                    "selector": Schema("object", values=_TEXT, is_atomic=True),
                },
            ),
            "status": Schema("object", properties={"phase": _TEXT}),
        },
    ),
)


def widget(name: str, **spec: object) -> Obj:
    """Return a widget as a client would send it."""
    return {"apiVersion": "example.dev/v1", "kind": "Widget", "metadata": {"name": name}, "spec": dict(spec)}


def served_kinds() -> tuple[ServedKind, ...]:
    """Return the real kinds and the widget."""
    return (*all_kinds(), WIDGET)


def store_with_default_namespace(clock: ManualClock, history: int = 100) -> Store:
    """Return a store that is ready for namespaced objects."""
    store = Store(served_kinds(), clock, history=history)
    store.create(store.kind("namespaces"), {"metadata": {"name": "default"}})
    return store


def session_for(cluster: LocalCluster, token: str | None = None) -> aiohttp.ClientSession:
    """Return an HTTP session with the administrator's token or another one."""
    context = ssl.create_default_context(cafile=str(cluster.ca_file))
    headers = {"Authorization": f"Bearer {token or cluster.token}"}
    connector = aiohttp.TCPConnector(ssl=context)
    return aiohttp.ClientSession(cluster.url, connector=connector, headers=headers)


async def until(condition: Callable[[], bool]) -> None:
    """Let the loop run until something has happened; there is nothing to subscribe to from outside the server."""
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.001)
