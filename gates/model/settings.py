"""The settings that decisions depend on."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from config.api.meta import NANOSECONDS

SECOND = NANOSECONDS
MINUTE = 60 * SECOND
TIME_LIMIT_NS = 1 << 63
"""Times in records are smaller than this, so that every reader can hold them in a signed 64-bit number."""


class Dispatcher(StrEnum):
    """Who chooses the clusters that get a replica."""

    ALL_AT_ONCE = "AllAtOnce"
    INCREMENTAL = "Incremental"
    EXTERNAL = "External"
    FORECAST_FIRST = "ForecastFirst"


class GatePolicy(StrEnum):
    """Which of those that ask gets its gate next."""

    FIRST_COME_FIRST_SERVED = "FirstComeFirstServed"
    LEAST_DISRUPTION = "LeastDisruption"
    PREFER_NO_PREEMPTION = "PreferNoPreemption"


class UngatedPolicy(StrEnum):
    """What to do with a worker whose Kueue does not honour gates."""

    ALLOW = "allow"
    EXCLUDE = "exclude"
    SEQUENTIAL = "sequential"


DEFAULT_UNGATED: Final = UngatedPolicy.SEQUENTIAL
"""For a worker that the configuration does not name."""


class GiveUpState(StrEnum):
    """What becomes of the check of a Workload that no worker admitted in time."""

    RETRY = "Retry"
    REJECTED = "Rejected"


@dataclass(frozen=True, slots=True)
class Settings:
    """Durations are nanoseconds."""

    timeout_ns: int = 5 * MINUTE
    non_preempting_grace_ns: int = 0
    """How long the first gate of an attempt waits for a worker that needs no preemption."""
    hold_while_quota_reserved: bool = True
    gate_single_target: bool = True
    dispatcher: Dispatcher = Dispatcher.ALL_AT_ONCE
    step_size: int = 3
    round_ns: int = 5 * MINUTE
    worker_lost_ns: int = 15 * MINUTE
    deferred_sync_ns: int = 2 * SECOND
    reject_ownerless: bool = False
    managed_by: str = "kueue.x-k8s.io/multikueue"
    max_out_of_sync: int = 3
    policy: GatePolicy = GatePolicy.FIRST_COME_FIRST_SERVED
    grace_ns: int = 10 * SECOND
    """How long those that ask wait for others, under the policies that wait."""
    skip_futile: bool = False
    forecast_round_ns: int = 30 * SECOND
    """How long the worker that is forecast to fit is tried alone."""
    give_up_after_ns: int = 0
    """How long a Workload may wait for a worker; 0 for as long as it takes."""
    give_up_state: GiveUpState = GiveUpState.RETRY
