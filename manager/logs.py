"""Log lines: an event name first, then keys and values, and the id of the reconcile that caused them.

One line for each decision that changed something; nothing for one that did not. Warnings that repeat are summarised.
"""

import logging
import secrets
import sys
from collections.abc import Callable
from contextvars import ContextVar
from itertools import count
from typing import Any, Final, TextIO

import orjson
import structlog

from config.choices import LogFormat
from config.sections import Logging
from manager.clock import SystemClock
from manager.repetition import Repetition

_RUN: Final = secrets.token_hex(3)
"""Tells the causes of this process from those before a restart."""
_cause: ContextVar[str] = ContextVar("cause", default="")
_numbers: Final = count(1)

Log = structlog.typing.FilteringBoundLogger
_log: Log | None = None
_CLOCK: Final = SystemClock()
_repetition = Repetition(_CLOCK.monotonic)


def configure_logging(
    settings: Logging, file: TextIO | None = None, monotonic: Callable[[], float] = _CLOCK.monotonic
) -> None:
    """Write log lines, to standard error if nothing else is given, in the form that the configuration asks for."""
    stream = sys.stderr if file is None else file
    renderer: Any = (
        structlog.processors.JSONRenderer(serializer=_dumps)
        if settings.format is LogFormat.JSON
        else structlog.dev.ConsoleRenderer(colors=stream.isatty())
    )
    global _log, _repetition  # noqa: PLW0603 - one process, one log; binding a logger for every line costs as much
    _repetition = Repetition(monotonic)
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            _repetition,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _add_cause,
            structlog.processors.format_exc_info,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[settings.level.upper()]),
        logger_factory=structlog.WriteLoggerFactory(file=stream),
        cache_logger_on_first_use=False,
    )
    _log = structlog.get_logger().bind()


def get_log() -> Log:
    """Return the logger."""
    if _log is not None:
        return _log
    unbound: Log = structlog.get_logger()
    return unbound


def begin_cause() -> str:
    """Give the current task an id that all its log lines carry, and those of tasks that it starts."""
    cause = f"{_RUN}-{next(_numbers)}"
    _cause.set(cause)
    return cause


def current_cause() -> str:
    """Return the id that the current task was given, for what else is to be found by it."""
    return _cause.get()


def suppressed_lines() -> int:
    """Return how many lines were left out because they repeated others."""
    return _repetition.suppressed


def _dumps(event: structlog.typing.EventDict, **_options: Any) -> str:
    return orjson.dumps(event, default=repr).decode()


def _add_cause(_logger: Any, _method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    cause = _cause.get()
    if cause:
        event["cause"] = cause
    return event
