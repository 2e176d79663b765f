"""The closed sets among the settings, spelled as they stand in the file."""

from enum import StrEnum


class GatesUnsupported(StrEnum):
    """What to do with a worker whose Kueue does not know preemption gates."""

    ALLOW = "allow"
    EXCLUDE = "exclude"
    SEQUENTIAL = "sequential"


class GatePolicy(StrEnum):
    """Which gate opens next."""

    FIRST_COME_FIRST_SERVED = "FirstComeFirstServed"


class DispatcherMode(StrEnum):
    """Who nominates the workers of a workload, and how many at a time."""

    ALL_AT_ONCE = "AllAtOnce"
    INCREMENTAL = "Incremental"
    EXTERNAL = "External"


class OwnerlessWorkloads(StrEnum):
    """What to do with a Workload that no job owns."""

    REPLICATE = "Replicate"
    REJECT = "Reject"


class LogFormat(StrEnum):
    """How a log line is written."""

    JSON = "json"
    CONSOLE = "console"


class LogLevel(StrEnum):
    """The least important line that is still written."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"
