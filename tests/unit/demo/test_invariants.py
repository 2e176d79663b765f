"""Each invariant of the demo fails on what it forbids, and the exit code with it."""

from dataclasses import replace

import pytest

from manager.demo.invariants import DemoEvidence, InvariantFinding, check_invariants, victims
from manager.demo.report import PreemptionCounts, exit_code, findings_list, numbers_table
from manager.demo.sightings import ClusterSighting, SightingKind

SECOND = 1_000_000_000
T = 8 * SECOND
OUTCOME = '{"succeeded": 1}'

Row = tuple[float, str, SightingKind, str, str]


def sighting(row: Row) -> ClusterSighting:
    seconds, cluster, what, job, detail = row
    at_ns = round(seconds * SECOND)
    return ClusterSighting(at_ns, cluster, what, job, detail, at_ns if what is SightingKind.RECORDED else 0)


GOOD: tuple[Row, ...] = (
    (1, "w1", SightingKind.COPIED, "a", ""),
    (1, "w2", SightingKind.COPIED, "a", ""),
    (2, "hub", SightingKind.RECORDED, "a", "w1"),
    (2.5, "w1", SightingKind.OPENED, "a", "position"),
    (2.6, "w1", SightingKind.EVICTED, "low", ""),
    (10, "hub", SightingKind.RECORDED, "a", "w2"),
    (10.1, "w2", SightingKind.OPENED, "a", "state"),
    (10.2, "w2", SightingKind.EVICTED, "low", ""),
    (11, "w2", SightingKind.ADMITTED, "a", ""),
    (11, "w2", SightingKind.STARTED, "a", ""),
    (11, "w1", SightingKind.REMOVED, "a", ""),
    (14, "w2", SightingKind.SUCCEEDED, "a", OUTCOME),
    (14, "hub", SightingKind.SUCCEEDED, "a", OUTCOME),
    (14, "w2", SightingKind.JOB_REMOVED, "a", ""),
    (14, "w2", SightingKind.REMOVED, "a", ""),
)


def evidence(*rows: Row) -> DemoEvidence:
    ordered = sorted(map(sighting, rows), key=lambda each: each.at_ns)
    return DemoEvidence(ordered, ("a",), "hub", {"w1": "position", "w2": "state"}, T)


def without(what: SightingKind, cluster: str) -> tuple[Row, ...]:
    return tuple(row for row in GOOD if not (row[2] is what and row[1] == cluster))


def problems(given: DemoEvidence) -> list[str]:
    return [problem for finding in check_invariants(given) for problem in finding.problems]


def test_a_good_story_has_no_problems() -> None:
    findings = check_invariants(evidence(*GOOD))

    assert [finding for finding in findings if not finding.holds] == []
    assert exit_code(findings) == 0
    assert findings_list(findings)[-1] == "All 8 held."


@pytest.mark.parametrize(
    ("rows", "want"),
    [
        pytest.param(
            (
                *without(SightingKind.OPENED, "w2"),
                (9.9, "w2", SightingKind.OPENED, "a", "state"),
                (3, "hub", SightingKind.RECORDED, "a", "w2"),
            ),
            "a: w2 was opened 7.9 s after w1, the timeout is 8.0 s",
            id="a second gate within the timeout",
        ),
        pytest.param(
            tuple(row for row in GOOD if row[4] != "w1"),
            "a: the gate on w1 opened before the hub had noted it",
            id="an opening that the hub does not know",
        ),
        pytest.param(
            (*GOOD, (2.4, "w1", SightingKind.EVICTED, "early", "")),
            "w1 evicted early while no gate was open there",
            id="a victim before the gate opened",
        ),
        pytest.param(
            (*GOOD, (12, "w1", SightingKind.EVICTED, "late", "")),
            "w1 evicted late while no gate was open there",
            id="a victim after the replica was gone",
        ),
        pytest.param(
            (*without(SightingKind.OPENED, "w1"), (2.5, "w1", SightingKind.OPENED, "a", "state")),
            "a: the gate on w1 was opened in `state`, its Kueue reads `position`",
            id="a gate in the other dialect",
        ),
        pytest.param(
            (*GOOD, (12, "w1", SightingKind.STARTED, "a", ""), (13, "w1", SightingKind.JOB_REMOVED, "a", "")),
            "a was started 2 times: w2, w1",
            id="two replicas ran",
        ),
        pytest.param(without(SightingKind.STARTED, "w2"), "a was started 0 times", id="no replica ran"),
        pytest.param(without(SightingKind.REMOVED, "w1"), "a: the replica on w1 still exists", id="a loser stays"),
        pytest.param(
            without(SightingKind.REMOVED, "w2"), "a: the replica on w2 still exists", id="the winner's replica stays"
        ),
        pytest.param(
            (*without(SightingKind.REMOVED, "w1"), (15, "w1", SightingKind.REMOVED, "a", "")),
            "a: the replica on w1 outlived the job",
            id="a loser goes too late",
        ),
        pytest.param(without(SightingKind.JOB_REMOVED, "w2"), "a: a remote job of it still exists", id="a job stays"),
        pytest.param(
            tuple(row for row in GOOD if row[2] is not SightingKind.COPIED),
            "a: no replica of it was ever seen",
            id="nothing was seen at all",
        ),
        pytest.param(
            without(SightingKind.SUCCEEDED, "hub"),
            "a: the hub's Job is not complete",
            id="the hub does not know the end",
        ),
        pytest.param(
            (*without(SightingKind.SUCCEEDED, "hub"), (14, "hub", SightingKind.SUCCEEDED, "a", "{}")),
            f"a: the hub says {{}}, the workers say {OUTCOME}",
            id="the hub tells another end",
        ),
        pytest.param(
            (*GOOD, (9, "w1", SightingKind.TOUCHED, "theirs", "it was deleted")),
            "theirs on w1: it was deleted",
            id="a foreign object was deleted",
        ),
    ],
)
def test_what_is_forbidden_is_found(rows: tuple[Row, ...], want: str) -> None:
    given = evidence(*rows)

    assert want in problems(given)
    assert exit_code(check_invariants(given)) == 1
    report = findings_list(check_invariants(given))
    assert f"            {want}" in report
    assert report[-1].endswith("of 8 failed.")


def test_a_gate_that_was_opened_again_on_the_same_worker_is_no_second_opening() -> None:
    assert problems(evidence(*GOOD, (3, "w1", SightingKind.OPENED, "a", "position"))) == []


def test_a_late_write_to_the_first_worker_does_not_shorten_its_window() -> None:
    """The window begins with the record on the hub, so a slow worker may be opened less than the timeout before."""
    slow = evidence(*without(SightingKind.OPENED, "w1"), (2.9, "w1", SightingKind.OPENED, "a", "position"))
    rows = [
        each if each.what is not SightingKind.EVICTED else replace(each, at_ns=12 * SECOND) for each in slow.sightings
    ]

    assert not [each for each in problems(replace(slow, sightings=rows)) if "timeout" in each]


def test_no_findings_are_no_success() -> None:
    assert exit_code([]) == 1
    assert exit_code([InvariantFinding("x", ())]) == 0


def test_the_numbers_are_what_was_counted() -> None:
    counted = victims(map(sighting, GOOD))
    assert counted == {"w1": 1, "w2": 1}

    table = numbers_table(PreemptionCounts({"worker-1": 2}, {"worker-1": 2, "worker-2": 1}))

    assert table[2].split()[-4:] == ["2", "0", "0", "2"]
    assert table[3].split()[-4:] == ["2", "1", "0", "3"]
    assert table[4].startswith("Without gates 1 more job was preempted")
