"""Sends one watch to its reader until it ends, the reader goes, or a fault strikes."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from aiohttp import web
from multidict import CIMultiDict

from localcluster.serving.faults import Drop, Effect, HalfOpen
from localcluster.serving.watch import WatchStream


async def send_watch(
    raw: web.BaseRequest, watcher: WatchStream, headers: CIMultiDict[str], effects: Sequence[Effect]
) -> web.StreamResponse:
    """Write the events of a watch; a reader that is cut off loses its connection without a final event."""
    response = web.StreamResponse(headers=headers)
    response.enable_chunked_encoding()
    with suppress(ConnectionError):  # the reader left, or the server stops: there is no one to tell
        await response.prepare(raw)
        if raw.transport is not None:
            await _send(response, raw.transport, watcher, effects)
    return response


async def _send(
    response: web.StreamResponse, transport: asyncio.Transport, watcher: WatchStream, effects: Sequence[Effect]
) -> None:
    watcher.on_cut = transport.abort
    sent = 0
    while (chunk := await watcher.next_chunk()) is not None:
        await response.write(chunk)
        sent += 1
        for effect in effects:
            if isinstance(effect, Drop) and sent >= effect.after_chunks:
                transport.abort()
                return
            if isinstance(effect, HalfOpen) and sent >= effect.after_chunks:
                await asyncio.get_running_loop().create_future()
    if not transport.is_closing():
        await response.write_eof()
