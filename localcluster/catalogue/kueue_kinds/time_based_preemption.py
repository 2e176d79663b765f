"""KEP-8522's field in a ClusterQueue: after how long equal priority may be preempted.

Kueue v0.19.1 does not have it and prunes it; only a cluster that was asked to speak this dialect serves it.
"""

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Final

from config.api.meta import Obj
from localcluster.kinds.columns import read
from localcluster.kinds.schema import Schema, SchemaError
from localcluster.kinds.structural import errors
from localcluster.kinds.structural.builder import obj, string

_CONFIG: Final = "spec.preemption.withinClusterQueueConfig"
_POLICY: Final = "spec.preemption.withinClusterQueue"
_NEEDED_POLICY: Final = "LowerOrNewerEqualPriority"
_SHORTEST_SECONDS: Final = 60

_SECONDS: Final = {
    "ns": Decimal("1e-9"),
    "us": Decimal("1e-6"),
    "µs": Decimal("1e-6"),
    "ms": Decimal("1e-3"),
    "s": Decimal(1),
    "m": Decimal(60),
    "h": Decimal(3600),
}
_TERM: Final = r"([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|ms|s|m|h)"


def within_cluster_queue_config() -> Schema:
    """Describe the configuration; a missing duration leaves the feature inactive."""
    return obj({"minAdmitDuration": string()})


def check_time_based_preemption(new: Obj, _old: Obj | None) -> Sequence[SchemaError]:
    """Return the violations: a policy that never considers equal priority, a duration malformed or below a minute."""
    config = read(new, _CONFIG)
    if config is None:
        return ()
    found: list[SchemaError] = []
    policy = read(new, _POLICY)
    if policy != _NEEDED_POLICY:
        complaint = f"may only be set when {_POLICY} is {_NEEDED_POLICY}, not {policy}"
        found.append(errors.forbidden(_CONFIG, complaint))
    duration = config.get("minAdmitDuration")
    if duration is not None:
        seconds = parse_go_duration(duration)
        if seconds is None:
            complaint = "must be a duration such as 90s, 4h or 1h30m"
            found.append(errors.invalid(f"{_CONFIG}.minAdmitDuration", duration, complaint))
        elif seconds < _SHORTEST_SECONDS:
            found.append(errors.invalid(f"{_CONFIG}.minAdmitDuration", duration, "must be at least 1m"))
    return found


def parse_go_duration(text: str) -> Decimal | None:
    """Return the seconds of a Go duration, None if it is not one."""
    sign, magnitude = (-1, text[1:]) if text.startswith("-") else (1, text.removeprefix("+"))
    if magnitude == "0":
        return Decimal(0)
    if not re.fullmatch(f"({_TERM})+", magnitude):
        return None
    return sign * sum((Decimal(number) * _SECONDS[unit] for number, unit in re.findall(_TERM, magnitude)), Decimal(0))
