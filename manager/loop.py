"""The event loop of a service: what goes wrong where nobody waits for it becomes a line of the log."""

import asyncio
from typing import Any

import uvloop

from manager.logs import get_log


def new_loop() -> asyncio.AbstractEventLoop:
    """Return a loop for a service."""
    loop = uvloop.new_event_loop()
    loop.set_exception_handler(log_failure)
    return loop


def log_failure(_loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Tell of a connection in one sentence, for whoever uses it learns of it too, and of anything else as of a bug."""
    problem, error = str(context["message"]), context.get("exception")
    if "transport" in context:
        get_log().warning("connection.broken", problem=problem, error=str(error))
    else:
        get_log().error("loop.failed", problem=problem, exc_info=error)
