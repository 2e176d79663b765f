"""The end of the demo: the numbers with and without gates, and whether every invariant held. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from manager.demo import cast
from manager.demo.invariants import InvariantFinding
from manager.demo.lines import wrapped


@dataclass(frozen=True, slots=True)
class PreemptionCounts:
    """The jobs that were preempted for the first urgent job, by worker, as counted on the workers."""

    with_gates: Mapping[str, int]
    without_gates: Mapping[str, int]

    @property
    def saved(self) -> int:
        """Return how many more there were without gates."""
        return sum(self.without_gates.values()) - sum(self.with_gates.values())


def numbers_table(numbers: PreemptionCounts) -> list[str]:
    """Return the numbers as lines."""
    header = ("", *cast.WORKERS, "total")
    rows = [header, _row("with Turnstile's gates", numbers.with_gates), _row("without gates", numbers.without_gates)]
    first = max(len(row[0]) for row in rows)
    lines = ["  ".join([row[0].ljust(first), *(cell.rjust(8) for cell in row[1:])]).rstrip() for row in rows]
    times = "job was" if numbers.saved == 1 else "jobs were"
    saved = f"Without gates {numbers.saved} more {times} preempted for {cast.FIRST}, which ran once all the same."
    heading = f"Jobs preempted for {cast.FIRST}, counted on the workers:"
    return [heading, *(f"  {line}" for line in lines), *wrapped(saved, "")]


def findings_list(findings: Sequence[InvariantFinding]) -> list[str]:
    """Return each invariant with its verdict, and below it what speaks against it."""
    lines = ["Invariants, checked against everything that was seen on the clusters:"]
    for finding in findings:
        lines += wrapped(f"  {'ok    ' if finding.holds else 'FAILED'}  {finding.name}", " " * 10)
        lines += [f"            {problem}" for problem in finding.problems]
    failed = sum(not finding.holds for finding in findings)
    return [*lines, f"{failed} of {len(findings)} failed." if failed else f"All {len(findings)} held."]


def exit_code(findings: Sequence[InvariantFinding]) -> int:
    """Return 0 only if something was checked and all of it held."""
    return 0 if findings and all(finding.holds for finding in findings) else 1


def _row(name: str, counts: Mapping[str, int]) -> tuple[str, ...]:
    each = [counts.get(worker, 0) for worker in cast.WORKERS]
    return (name, *map(str, each), str(sum(each)))
