"""A server that answers with raw bytes."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from aiohttp import web

from config.kubeconfig.access import ClusterAccess
from localcluster.serving.tls import issue_certificates

TOKEN = "very-secret"


Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def serving(handler: Handler, directory: Path) -> AsyncIterator[ClusterAccess]:
    """Serve whatever the handler says, over HTTPS."""
    certificates = issue_certificates("odd")
    server = web.Server(handler, handler_cancellation=True)
    loop = asyncio.get_running_loop()
    listener = await loop.create_server(server, "127.0.0.1", 0, ssl=certificates.server_context(directory))
    port = listener.sockets[0].getsockname()[1]
    try:
        yield ClusterAccess(f"https://127.0.0.1:{port}", ca=certificates.authority, token=TOKEN)
    finally:
        listener.close()
        for connection in list(server.connections):
            if connection.transport is not None:
                connection.transport.abort()
        await server.shutdown(1)
