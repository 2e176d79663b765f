"""What happens in a history from outside, drawn from its seed before anything runs.

The setting says how many clusters and daemons there are; events say what users, operators and trouble do, and when.
Events are a list of values, so that a history can be repeated without some of them.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

VERSION: Final = 4
"""Of what a seed means and how a history is written to a file."""
TROUBLE_ENDS: Final = 240.0
"""When everything that is wrong ends, in seconds from the beginning."""


KUEUES: Final = ("current", "kep", "gates-off", "before-gates")
"""Which Kueue a worker may have."""


SERVING: Final = "serve"
"""The name of the LeaderWorkerSet."""
JOBS: Final = ("job-0", "job-1", "job-2", SERVING)
"""What events of users may be about, whether or not it was submitted."""


class Moment(StrEnum):
    """What an event may follow: something that becomes visible on a cluster."""

    QUOTA = "the hub reserves quota"
    RECORD = "an opening is recorded"
    OPENING = "a gate opens"
    ADMITTED = "a worker admits"
    JOB = "a job is created on a worker"
    ENDED = "a job ends on a worker"


class PlanError(Exception):
    """A history that cannot be played; the message says why, in one line."""


@dataclass(frozen=True)
class WorkerSetting:
    """One worker."""

    name: str
    occupied: bool
    """Whether jobs of its own fill its queue, so that a hub's job has to preempt."""
    stop_seconds: int
    """How long those take to stop; often longer than the timeout, so that several gates open."""
    skew_seconds: float
    kueue: str = "current"
    """Which Kueue it has, of `KUEUES`."""


@dataclass(frozen=True)
class Setting:
    """What a history begins with."""

    workers: tuple[WorkerSetting, ...]
    daemons: int
    timeout: int
    """`singleClusterPreemptionTimeout`, in seconds."""
    lost: int
    """`workerLostTimeout`, in seconds."""
    latency: float
    dispatcher: str = "AllAtOnce"
    is_one_machine: bool = True
    forecasts: bool = False
    second_check: bool = False
    """Whether the hub's queue has another admission check, of another controller."""


@dataclass(frozen=True)
class Event:
    """Something that happens from outside."""

    at: float
    """When, in seconds from the beginning, or from the moment `after`."""
    kind: str
    target: str = ""
    """On what; `@` stands for the worker that the moment is about, `%` for its job."""
    seconds: float = 0.0
    value: str = ""
    after: str = ""
    """A kind of moment, of `moments.Moment`, if it follows one."""
    nth: int = 1
    """Which of those moments."""

    def __str__(self) -> str:
        lasting = f" for {self.seconds:g} s" if self.seconds else ""
        value = f" ({self.value})" if self.value else ""
        after = f", after moment {self.nth} of: {self.after}" if self.after else ""
        return f"{self.kind} {self.target}{value}{lasting}{after}".replace("  ", " ")


@dataclass(frozen=True)
class Plan:
    """One history."""

    seed: int
    setting: Setting
    events: tuple[Event, ...]

    def without(self, dropped: Iterable[Event]) -> "Plan":
        """Return the same history in which some things do not happen."""
        gone = {id(event) for event in dropped}
        return replace(self, events=tuple(event for event in self.events if id(event) not in gone))

    def dumps(self) -> str:
        """Write it to a file."""
        return json.dumps({"version": VERSION, **asdict(self)}, indent=1)


def load(path: Path, known: Iterable[str]) -> Plan:
    """Read a history from a file; raises `PlanError`."""
    try:
        document = json.loads(path.read_text())
    except OSError as error:
        raise PlanError(f"{path}: {error.strerror}") from None
    except ValueError:
        raise PlanError(f"{path}: not JSON") from None
    version = document.get("version") if isinstance(document, dict) else None
    if version != VERSION:
        raise PlanError(f"{path}: version is {json.dumps(version)}, must be {VERSION}: its seeds mean something else")
    try:
        return _plan(document, tuple(known))
    except (KeyError, TypeError) as error:
        raise PlanError(f"{path}: not a history: {error}") from None


def _plan(document: dict[str, Any], known: tuple[str, ...]) -> Plan:
    setting = document["setting"]
    workers = tuple(WorkerSetting(**worker) for worker in setting["workers"])
    for worker in workers:
        if worker.kueue not in KUEUES:
            raise PlanError(
                f'Kueue "{worker.kueue}" of worker {worker.name} is not known, must be one of: {_names(KUEUES)}'
            )
    events = tuple(Event(**event) for event in document["events"])
    for event in events:
        if event.kind not in known:
            raise PlanError(f'event "{event.kind}" is not known, must be one of: {_names(known)}')
        _check_target(event, [worker.name for worker in workers], int(setting["daemons"]))
        if event.after and event.after not in [*Moment]:
            raise PlanError(f'moment "{event.after}" is not known, must be one of: {_names(Moment)}')
    return Plan(document["seed"], Setting(**{**setting, "workers": workers}), events)


def _check_target(event: Event, workers: list[str], daemons: int) -> None:
    """Refuse what an event cannot happen to."""
    clusters = ["hub", "@", *workers]
    of_daemons = [f"daemon-{number}" for number in range(1, daemons + 1)]
    ways = [f"{daemon}>{cluster}" for daemon in of_daemons for cluster in clusters]
    if event.kind != "submit" and event.target not in [*clusters, *of_daemons, *ways, *JOBS, "%"]:
        raise PlanError(f'target "{event.target}" of event "{event.kind}" is not known')


def _names(names: Iterable[str]) -> str:
    return ", ".join(names)
