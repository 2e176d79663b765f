"""What must hold whatever the timing was. Pure: all that was seen goes in, findings come out."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from config.api.meta import NANOSECONDS
from manager.demo.sightings import Sighting, What


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was seen, and what it has to be held against."""

    sightings: Sequence[Sighting]
    """In the order in which they were seen."""
    jobs: Sequence[str]
    """The jobs that were submitted through the hub."""
    hub: str
    gate_fields: Mapping[str, str]
    """The workers, each with its spelling of the state of a gate."""
    timeout_ns: int

    def of(self, what: What, job: str | None = None) -> list[Sighting]:
        """Return the sightings of one sort."""
        return [each for each in self.sightings if each.what is what and job in (None, each.job)]

    def on_workers(self, what: What, job: str) -> list[Sighting]:
        """Return the sightings of one sort that are not the hub's."""
        return [each for each in self.of(what, job) if each.cluster != self.hub]


@dataclass(frozen=True, slots=True)
class Finding:
    """One invariant and what speaks against it."""

    name: str
    problems: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Tell whether nothing speaks against it."""
        return not self.problems


def check_invariants(evidence: Evidence) -> list[Finding]:
    """Check all of them."""
    return [Finding(name, tuple(check(evidence))) for name, check in _CHECKS.items()]


def victims(sightings: Iterable[Sighting]) -> dict[str, int]:
    """Count the evicted jobs by worker."""
    counts: dict[str, int] = {}
    for each in sightings:
        if each.what is What.EVICTED:
            counts[each.cluster] = counts.get(each.cluster, 0) + 1
    return counts


def _one_opening_per_timeout(evidence: Evidence) -> Iterator[str]:
    for job in evidence.jobs:
        records = {each.detail: each.since_ns for each in evidence.of(What.RECORDED, job)}
        openings = evidence.on_workers(What.OPENED, job)
        for earlier, later in pairwise(openings):
            began_ns = min(records.get(earlier.cluster, earlier.at_ns), earlier.at_ns)
            passed_ns = later.at_ns - began_ns
            if earlier.cluster != later.cluster and passed_ns < evidence.timeout_ns:
                yield (
                    f"{job}: {later.cluster} was opened {_seconds(passed_ns)} after {earlier.cluster}, "
                    f"the timeout is {_seconds(evidence.timeout_ns)}"
                )


def _recorded_first(evidence: Evidence) -> Iterator[str]:
    noted: set[tuple[str, str]] = set()
    for each in evidence.sightings:
        if each.what is What.RECORDED:
            noted.add((each.job, each.detail))
        elif each.what is What.OPENED and (each.job, each.cluster) not in noted:
            yield f"{each.job}: the gate on {each.cluster} opened before the hub had noted it"


def _victims_behind_open_gates(evidence: Evidence) -> Iterator[str]:
    opened: dict[str, set[str]] = {}
    for each in evidence.sightings:
        standing = opened.setdefault(each.cluster, set())
        if each.what is What.OPENED:
            standing.add(each.job)
        elif each.what is What.REMOVED:
            standing.discard(each.job)
        elif each.what is What.EVICTED and not standing:
            yield f"{each.cluster} evicted {each.job} while no gate stood open there"


def _own_spelling(evidence: Evidence) -> Iterator[str]:
    for each in evidence.of(What.OPENED):
        wanted = evidence.gate_fields[each.cluster]
        if each.detail != wanted:
            yield f"{each.job}: the gate on {each.cluster} was opened in `{each.detail}`, its Kueue reads `{wanted}`"


def _one_copy_ran(evidence: Evidence) -> Iterator[str]:
    for job in evidence.jobs:
        ran = [each.cluster for each in evidence.on_workers(What.STARTED, job)]
        if len(ran) != 1:
            yield f"{job} was started {len(ran)} times" + (f": {', '.join(ran)}" if ran else "")


def _losers_gone(evidence: Evidence) -> Iterator[str]:
    for job in evidence.jobs:
        winners = {each.cluster for each in evidence.on_workers(What.STARTED, job)}
        ended_ns = min((each.at_ns for each in evidence.on_workers(What.SUCCEEDED, job)), default=None)
        gone_ns = {each.cluster: each.at_ns for each in evidence.on_workers(What.REMOVED, job)}
        copies = evidence.on_workers(What.COPIED, job)
        if not copies:
            yield f"{job}: no copy of it was ever seen"
        for copy in copies:
            if copy.cluster not in gone_ns:
                yield f"{job}: the copy on {copy.cluster} is still there"
            elif copy.cluster not in winners and ended_ns is not None and gone_ns[copy.cluster] > ended_ns:
                yield f"{job}: the copy on {copy.cluster} outlived the job"
        left = _count(evidence, What.STARTED, job) - _count(evidence, What.JOB_REMOVED, job)
        if left > 0:
            yield f"{job}: a job of it on the workers is still there"


def _hub_knows_the_end(evidence: Evidence) -> Iterator[str]:
    for job in evidence.jobs:
        told = [each.detail for each in evidence.of(What.SUCCEEDED, job) if each.cluster == evidence.hub]
        happened = [each.detail for each in evidence.on_workers(What.SUCCEEDED, job)]
        if not told:
            yield f"{job}: the hub's Job is not complete"
        elif told != happened:
            yield f"{job}: the hub says {', '.join(told)}, the workers say {', '.join(happened) or 'nothing'}"


def _nothing_foreign_touched(evidence: Evidence) -> Iterator[str]:
    for each in evidence.of(What.TOUCHED):
        yield f"{each.job} on {each.cluster}: {each.detail}"


_CHECKS: Mapping[str, Callable[[Evidence], Iterator[str]]] = {
    "no two gates of a job opened within one timeout": _one_opening_per_timeout,
    "every opening stood on the hub before its worker was touched": _recorded_first,
    "victims only where a gate stood open": _victims_behind_open_gates,
    "each gate opened in the spelling that its worker's Kueue reads": _own_spelling,
    "each job ran once, on one worker": _one_copy_ran,
    "no copy is left, the losers' were gone before the job ended": _losers_gone,
    "the hub's Jobs are complete, with the status of the worker's": _hub_knows_the_end,
    "nothing that belongs to others was changed or deleted": _nothing_foreign_touched,
}


def _count(evidence: Evidence, what: What, job: str) -> int:
    return len(evidence.on_workers(what, job))


def _seconds(ns: int) -> str:
    return f"{ns / NANOSECONDS:.1f} s"
