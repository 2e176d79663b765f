"""The single-cluster preemption timeout of one AdmissionCheck, which an annotation may set apart from the others.

An invalid value never stops anything: the configured timeout stays, and the check's condition says why.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from config.loading.cautions import SHORT_PREEMPTION_TIMEOUT
from config.types.duration import DurationError, format_duration, nanoseconds_of, parse_duration
from gates.model import marks
from gates.model.settings import Settings

_LEAST: Final = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class CheckTimeout:
    """What a check says about its timeout."""

    timeout_ns: int | None = None
    remark: str = ""


NO_TIMEOUT: Final = CheckTimeout()


def check_timeout(annotations: Mapping[str, str]) -> CheckTimeout:
    """Read a check's own timeout."""
    text = annotations.get(marks.PREEMPTION_TIMEOUT)
    if text is None:
        return NO_TIMEOUT
    try:
        timeout = parse_duration(text)
    except DurationError as error:
        return _refused(text, f"; it {error}")
    if timeout < _LEAST:
        return _refused(text)
    return CheckTimeout(nanoseconds_of(timeout), is_short(timeout) if timeout < SHORT_PREEMPTION_TIMEOUT else "")


def with_timeout(settings: Settings, own: CheckTimeout) -> Settings:
    """Return the settings for Workloads of a check."""
    return settings if own.timeout_ns is None else replace(settings, timeout_ns=own.timeout_ns)


def is_short(timeout: timedelta) -> str:
    """Say that a timeout leaves victims little time."""
    return f"its preemption timeout of {format_duration(timeout)} is short: victims rarely end within it"


def _refused(text: str, why: str = "") -> CheckTimeout:
    allowed = f'a duration of at least {format_duration(_LEAST)} (for example "5m")'
    return CheckTimeout(
        remark=f"annotation {marks.PREEMPTION_TIMEOUT} is {text[:64]!r}: expected {allowed}{why}; "
        "the configured timeout is used"
    )
