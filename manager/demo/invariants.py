"""What must hold whatever the timing was. Pure: all that was seen goes in, findings come out."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from config.api.meta import NANOSECONDS
from manager.demo.sightings import ClusterSighting, SightingKind


@dataclass(frozen=True, slots=True)
class DemoEvidence:
    """What was seen, and what it has to be held against."""

    sightings: Sequence[ClusterSighting]
    """In the order in which they were seen."""
    jobs: Sequence[str]
    """The jobs that were submitted through the hub."""
    hub: str
    gate_fields: Mapping[str, str]
    """The workers, each with its spelling of the state of a gate."""
    timeout_ns: int

    def of(self, what: SightingKind, job: str | None = None) -> list[ClusterSighting]:
        """Return the sightings of one sort."""
        return [each for each in self.sightings if each.what is what and job in (None, each.job)]

    def on_workers(self, what: SightingKind, job: str) -> list[ClusterSighting]:
        """Return the sightings of one sort that are not the hub's."""
        return [each for each in self.of(what, job) if each.cluster != self.hub]


@dataclass(frozen=True, slots=True)
class InvariantFinding:
    """One invariant and what speaks against it."""

    name: str
    problems: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Return whether nothing speaks against it."""
        return not self.problems


def check_invariants(evidence: DemoEvidence) -> list[InvariantFinding]:
    """Check all of them."""
    return [InvariantFinding(name, tuple(check(evidence))) for name, check in _CHECKS.items()]


def victims(sightings: Iterable[ClusterSighting]) -> dict[str, int]:
    """Count the evicted jobs by worker."""
    counts: dict[str, int] = {}
    for each in sightings:
        if each.what is SightingKind.EVICTED:
            counts[each.cluster] = counts.get(each.cluster, 0) + 1
    return counts


def _one_opening_per_timeout(evidence: DemoEvidence) -> Iterator[str]:
    for job in evidence.jobs:
        records = {each.detail: each.since_ns for each in evidence.of(SightingKind.RECORDED, job)}
        openings = evidence.on_workers(SightingKind.OPENED, job)
        for earlier, later in pairwise(openings):
            began_ns = min(records.get(earlier.cluster, earlier.at_ns), earlier.at_ns)
            passed_ns = later.at_ns - began_ns
            if earlier.cluster != later.cluster and passed_ns < evidence.timeout_ns:
                yield (
                    f"{job}: {later.cluster} was opened {_seconds(passed_ns)} after {earlier.cluster}, "
                    f"the timeout is {_seconds(evidence.timeout_ns)}"
                )


def _recorded_first(evidence: DemoEvidence) -> Iterator[str]:
    noted: set[tuple[str, str]] = set()
    for each in evidence.sightings:
        if each.what is SightingKind.RECORDED:
            noted.add((each.job, each.detail))
        elif each.what is SightingKind.OPENED and (each.job, each.cluster) not in noted:
            yield f"{each.job}: the gate on {each.cluster} opened before the hub had noted it"


def _victims_behind_open_gates(evidence: DemoEvidence) -> Iterator[str]:
    opened: dict[str, set[str]] = {}
    for each in evidence.sightings:
        standing = opened.setdefault(each.cluster, set())
        if each.what is SightingKind.OPENED:
            standing.add(each.job)
        elif each.what is SightingKind.REMOVED:
            standing.discard(each.job)
        elif each.what is SightingKind.EVICTED and not standing:
            yield f"{each.cluster} evicted {each.job} while no gate was open there"


def _own_spelling(evidence: DemoEvidence) -> Iterator[str]:
    for each in evidence.of(SightingKind.OPENED):
        wanted = evidence.gate_fields[each.cluster]
        if each.detail != wanted:
            yield f"{each.job}: the gate on {each.cluster} was opened in `{each.detail}`, its Kueue reads `{wanted}`"


def _one_copy_ran(evidence: DemoEvidence) -> Iterator[str]:
    for job in evidence.jobs:
        ran = [each.cluster for each in evidence.on_workers(SightingKind.STARTED, job)]
        if len(ran) != 1:
            yield f"{job} was started {len(ran)} times" + (f": {', '.join(ran)}" if ran else "")


def _losers_gone(evidence: DemoEvidence) -> Iterator[str]:
    for job in evidence.jobs:
        winners = {each.cluster for each in evidence.on_workers(SightingKind.STARTED, job)}
        ended_ns = min((each.at_ns for each in evidence.on_workers(SightingKind.SUCCEEDED, job)), default=None)
        gone_ns = {each.cluster: each.at_ns for each in evidence.on_workers(SightingKind.REMOVED, job)}
        copies = evidence.on_workers(SightingKind.COPIED, job)
        if not copies:
            yield f"{job}: no replica of it was ever seen"
        for copy in copies:
            if copy.cluster not in gone_ns:
                yield f"{job}: the replica on {copy.cluster} still exists"
            elif copy.cluster not in winners and ended_ns is not None and gone_ns[copy.cluster] > ended_ns:
                yield f"{job}: the replica on {copy.cluster} outlived the job"
        left = _count(evidence, SightingKind.STARTED, job) - _count(evidence, SightingKind.JOB_REMOVED, job)
        if left > 0:
            yield f"{job}: a remote job of it still exists"


def _hub_knows_the_end(evidence: DemoEvidence) -> Iterator[str]:
    for job in evidence.jobs:
        told = [each.detail for each in evidence.of(SightingKind.SUCCEEDED, job) if each.cluster == evidence.hub]
        happened = [each.detail for each in evidence.on_workers(SightingKind.SUCCEEDED, job)]
        if not told:
            yield f"{job}: the hub's Job is not complete"
        elif told != happened:
            yield f"{job}: the hub says {', '.join(told)}, the workers say {', '.join(happened) or 'nothing'}"


def _nothing_foreign_touched(evidence: DemoEvidence) -> Iterator[str]:
    for each in evidence.of(SightingKind.TOUCHED):
        yield f"{each.job} on {each.cluster}: {each.detail}"


_CHECKS: Mapping[str, Callable[[DemoEvidence], Iterator[str]]] = {
    "no two gates of a job opened within one timeout": _one_opening_per_timeout,
    "every opening was recorded on the hub before the gate opened": _recorded_first,
    "victims only where a gate was open": _victims_behind_open_gates,
    "each gate opened in the field that its worker's Kueue reads": _own_spelling,
    "each job ran once, on one worker": _one_copy_ran,
    "no replica is left, and those of other workers were removed before the job ended": _losers_gone,
    "the hub's Jobs are complete, with the status of the worker's": _hub_knows_the_end,
    "no foreign object was changed or deleted": _nothing_foreign_touched,
}


def _count(evidence: DemoEvidence, what: SightingKind, job: str) -> int:
    return len(evidence.on_workers(what, job))


def _seconds(ns: int) -> str:
    return f"{ns / NANOSECONDS:.1f} s"
