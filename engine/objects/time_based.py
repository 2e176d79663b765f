"""KEP-8522: a workload that has held its quota long enough may be preempted by an equal one of its own ClusterQueue.

Pure rules: reading and validating `withinClusterQueueConfig`, and when a holder has expired. Kueue v0.19.1 has no such
field, so all of it applies only with the gate TimeBasedSamePriorityPreemption.
"""

from collections.abc import Mapping
from typing import Any, Final

from config.types.duration import DurationError, parse_nanoseconds
from engine.vocabulary.errors import FieldError

MIN_ADMIT_DURATION_FLOOR_NS: Final = 60_000_000_000

_CONFIG_PATH: Final = "spec.preemption.withinClusterQueueConfig"
_POLICY: Final = "LowerOrNewerEqualPriority"


def read_min_admit_duration(preemption: Mapping[str, Any] | None) -> int | None:
    """Return `minAdmitDuration` in nanoseconds, None where the feature is not configured; raise FieldError if invalid.

    `preemption` is the raw `spec.preemption` of a ClusterQueue. The rules hold whether or not the gate is on.
    """
    block = preemption or {}
    config = block.get("withinClusterQueueConfig")
    if config is None:
        return None
    if not isinstance(config, Mapping):
        raise FieldError(_CONFIG_PATH, f"{config!r} is not allowed: must be a map with minAdmitDuration")
    policy = block.get("withinClusterQueue") or "Never"
    if policy != _POLICY:
        raise FieldError(_CONFIG_PATH, f"needs spec.preemption.withinClusterQueue: {_POLICY}, but it is {policy}")
    text = config.get("minAdmitDuration")
    return None if text is None else _read_duration(text)


def is_expired(now_ns: int, reserved_ns: int | None, min_admit_ns: int) -> bool:
    """Return whether a holder has had its time; `reserved_ns` is None while its QuotaReserved is not True."""
    return reserved_ns is not None and now_ns - reserved_ns > min_admit_ns


def expires_at(reserved_ns: int, min_admit_ns: int) -> int:
    """Return the first instant at which the holder is expired: nothing else wakes a parked workload then."""
    return reserved_ns + min_admit_ns + 1


def _read_duration(text: object) -> int:
    path = f"{_CONFIG_PATH}.minAdmitDuration"
    if not isinstance(text, str):
        raise FieldError(path, f"{text!r} is not a duration: must be text such as 90s or 1h30m")
    try:
        duration = parse_nanoseconds(text)
    except DurationError as error:
        raise FieldError(path, f'"{text}" is not a duration: {error}') from None
    if duration < MIN_ADMIT_DURATION_FLOOR_NS:
        raise FieldError(path, f'"{text}" is not allowed: must be at least 60s')
    return duration
