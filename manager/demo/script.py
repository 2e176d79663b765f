"""The words of the demo: its acts, and one line for each thing that is seen."""

from dataclasses import dataclass
from typing import Final

from manager.demo import cast
from manager.demo.foresight import tell_forecast, tell_outcome
from manager.demo.sightings import ClusterSighting, SightingKind


@dataclass(frozen=True, slots=True)
class Act:
    """One act, with a sentence or two for first-time viewers."""

    number: int
    title: str
    explanation: str


FULL: Final = Act(
    1,
    "Every worker is full",
    f"One hub, three workers. Each worker has {cast.WORKER_CPUS} CPUs, and low-priority jobs of its own take all of "
    "them.",
)
ONE_GATE: Final = Act(
    2,
    "A high-priority job arrives; one worker preempts",
    f"{cast.FIRST} needs {cast.URGENT_CPUS} CPUs. Each worker gets a replica behind a closed gate and may only ask to "
    "preempt. One gate opens: its worker runs the job, the other replicas are removed.",
)
STUCK: Final = Act(
    3,
    "A preemption gets stuck; the next worker takes over",
    f"On the first worker, the jobs that should make room for {cast.SECOND} do not stop. "
    f"After {cast.TIMEOUT_SECONDS} s (by default 5 minutes) the next gate opens.",
)
WITHOUT: Final = Act(
    4,
    "Act 2 again, without gates",
    "New clusters, same jobs, but a Kueue that does not honour gates, which is its default. "
    f"{cast.FIRST} still runs only once: count the jobs preempted for it.",
)
ACTS: Final = (FULL, ONE_GATE, STUCK, WITHOUT)

OPEN_MARK: Final = "GATE OPEN"
_WORDS: Final = {
    SightingKind.COPIED: "gets a replica of {job}",
    SightingKind.ASKED: "asks to preempt for {job}",
    SightingKind.RECORDED: "notes that {detail} may preempt for {job}",
    SightingKind.FORECAST: "",
    SightingKind.VERIFIED: "",
    SightingKind.OPENED: OPEN_MARK + " for {job}: may preempt, alone for {timeout} s",
    SightingKind.EVICTED: "{job} is preempted and told to stop",
    SightingKind.STOPPED: "{job} has stopped",
    SightingKind.ADMITTED: "admits {job}",
    SightingKind.STARTED: "{job} runs",
    SightingKind.SUCCEEDED: "{job} finished",
    SightingKind.REMOVED: "replica of {job} removed",
    SightingKind.JOB_REMOVED: "",
    SightingKind.TOUCHED: "{job} is not managed by Turnstile: {detail}",
}


class Narrator:
    """Puts into words what is seen on one stage."""

    def __init__(self) -> None:
        self._victims: set[tuple[str, str]] = set()
        self._recorded: set[tuple[str, str]] = set()

    def tell(self, seen: ClusterSighting) -> str:
        """Return the line for a sighting, empty if it is not worth one."""
        if seen.what is SightingKind.EVICTED:
            self._victims.add((seen.cluster, seen.job))
        if seen.what is SightingKind.STARTED and seen.job in cast.LOW_PRIORITY:
            return f"{seen.job} runs again" if (seen.cluster, seen.job) in self._victims else ""
        if seen.what is SightingKind.RECORDED:
            if (seen.job, seen.detail) in self._recorded:  # the record of an opening is completed later
                return ""
            self._recorded.add((seen.job, seen.detail))
        worker, _, what = seen.detail.partition(" ")
        if seen.what is SightingKind.FORECAST:
            return tell_forecast(worker, what)
        if seen.what is SightingKind.VERIFIED:
            return tell_outcome(worker, what)
        if seen.what is SightingKind.SUCCEEDED and seen.cluster == cast.HUB:
            return f"Job {seen.job} is complete, with the worker's status"
        return _WORDS[seen.what].format(job=seen.job, detail=seen.detail, timeout=cast.TIMEOUT_SECONDS)
