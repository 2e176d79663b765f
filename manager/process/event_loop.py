"""The event loop of a service: errors that no caller waits for are logged."""

import asyncio
from typing import Any

import uvloop

from manager.logging.logs import get_log


def new_loop() -> asyncio.AbstractEventLoop:
    """Return a loop for a service."""
    loop = uvloop.new_event_loop()
    loop.set_exception_handler(log_failure)
    return loop


def log_failure(_loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log a connection's error in one sentence, because its user gets it too, and anything else as a bug."""
    problem, error = str(context["message"]), context.get("exception")
    if "transport" in context:
        get_log().warning("connection.broken", problem=problem, error=str(error))
    else:
        get_log().error("loop.failed", problem=problem, exc_info=error)
