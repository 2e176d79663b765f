"""Annotations that say how a job behaves, because nothing really runs."""

import logging
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from config.api.meta import NANOSECONDS, object_key
from config.names import DOMAIN

RUN_SECONDS: Final = f"localcluster.{DOMAIN}/run-seconds"
"""How long the job runs before it succeeds; without it the job runs until it is deleted."""
STOP_SECONDS: Final = f"localcluster.{DOMAIN}/stop-seconds"
"""How long the job goes on after it was told to stop, or NEVER; without it the job stops at once."""
NEVER: Final = "never"

_LOG: Final = logging.getLogger(__name__)
_MOST_SECONDS: Final = 10**9


class AnnotationError(ValueError):
    """An annotation that cannot be understood; the message names it and what is allowed."""


def run_ns(raw: Mapping[str, Any]) -> int | None:
    """Return how long a job runs, None if it never ends on its own."""
    text = _annotation(raw, RUN_SECONDS)
    return None if text is None else _nanoseconds(RUN_SECONDS, text, "a number of seconds")


def stop_ns(raw: Mapping[str, Any]) -> int | None:
    """Return how long a job takes to stop, None if it never does."""
    text = _annotation(raw, STOP_SECONDS)
    if text == NEVER:
        return None
    return 0 if text is None else _nanoseconds(STOP_SECONDS, text, f'a number of seconds or "{NEVER}"')


def stop_ns_or_zero(raw: Mapping[str, Any]) -> int | None:
    """Return how long a job takes to stop; one whose annotation cannot be understood stops at once."""
    try:
        return stop_ns(raw)
    except AnnotationError as error:
        _LOG.warning("job.stops_at_once: %s: %s", object_key(raw), error)
        return 0


def _annotation(raw: Mapping[str, Any], name: str) -> str | None:
    text: str | None = (raw["metadata"].get("annotations") or {}).get(name)
    return text


def _nanoseconds(name: str, text: str, allowed: str) -> int:
    try:
        seconds = Decimal(text)
    except InvalidOperation:
        seconds = Decimal(-1)
    if not (seconds.is_finite() and 0 <= seconds <= _MOST_SECONDS):
        raise AnnotationError(f'metadata.annotations[{name}]: "{text}" is not allowed: must be {allowed}')
    return int(seconds * NANOSECONDS)
