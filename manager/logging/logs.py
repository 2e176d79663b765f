"""Log lines: an event name first, then keys and values, and the id of the reconcile that caused them.

One line for each decision that changed something; nothing for one that did not. Warnings that repeat are summarised.
"""

import logging
import secrets
import sys
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import count
from typing import Any, Final, TextIO

import orjson
import structlog

from config.sections.process import Logging
from config.types.choices import LogFormat
from manager.base.clock import SystemClock
from manager.logging.redaction import redacted
from manager.logging.repetition import Repetition
from workerclient.base.errors import excerpt

_RUN: Final = secrets.token_hex(3)
"""Distinguishes the causes of this process from those before a restart."""
_INDENT: Final = "    "
_MANY_LINES: Final = frozenset({"exception", "stack"})
_cause: ContextVar[str] = ContextVar("cause", default="")
_numbers: Final = count(1)

Log = structlog.typing.FilteringBoundLogger


@dataclass(slots=True)
class _ProcessLog:
    """The log of this process: one, because binding a logger for every line takes as long as writing it."""

    log: Log | None = None
    repetition: Repetition | None = None


_process: Final = _ProcessLog()


def configure_logging(
    settings: Logging, file: TextIO | None = None, monotonic: Callable[[], float] | None = None
) -> None:
    """Write log lines, to standard error if nothing else is given, in the form that the configuration asks for."""
    stream = sys.stderr if file is None else file
    renderers: list[Any] = (
        [structlog.processors.JSONRenderer(serializer=_dumps)]
        if settings.format is LogFormat.JSON
        else [_keep_lines_apart, structlog.dev.ConsoleRenderer(colors=stream.isatty())]
    )
    _process.repetition = Repetition(monotonic or SystemClock().monotonic)
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            _process.repetition,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _add_cause,
            structlog.processors.format_exc_info,
            _redact,
            *renderers,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[settings.level.upper()]),
        logger_factory=structlog.WriteLoggerFactory(file=stream),
        cache_logger_on_first_use=False,
    )
    _process.log = structlog.get_logger().bind()
    logging.lastResort = _Libraries(logging.WARNING)


def reset_logging() -> None:
    """Return to the state before `configure_logging`: lines go to standard output in structlog's own form."""
    _process.log = _process.repetition = None
    structlog.reset_defaults()


def get_log() -> Log:
    """Return the logger."""
    if _process.log is not None:
        return _process.log
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
    return 0 if _process.repetition is None else _process.repetition.suppressed


class _Libraries(logging.Handler):
    """Makes lines of our log of what libraries say on their own, which would go to standard error as it is."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line, and what was raised if something was."""
        get_log().warning(
            "library.trouble", library=record.name, message=record.getMessage(), exc_info=record.exc_info or None
        )


def _dumps(event: structlog.typing.EventDict, **_options: Any) -> str:
    return orjson.dumps(event, default=repr).decode()


def _redact(_logger: Any, _method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    return dict(redacted(event))


def _keep_lines_apart(_logger: Any, _method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """Keep foreign text from starting a line: what follows an event is indented, and the event itself is one line."""
    for key in _MANY_LINES & event.keys():
        event[key] = "\n".join(f"{_INDENT}{line}" for line in str(event[key]).split("\n"))
    event["event"] = excerpt(str(event["event"]))
    return {excerpt(key): value for key, value in event.items()}


def _add_cause(_logger: Any, _method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    cause = _cause.get()
    if cause:
        event["cause"] = cause
    return event
