"""The benchmark of policies is repeatable, and its page shows what it prints."""

from pathlib import Path

import pytest

from benchmarks.policies import DOCUMENT, MODES, PICTURE, UNGATED, draw, parsed, play, table, titles
from benchmarks.policies_hub import Fleet
from benchmarks.policies_mix import TRACE, Arrival, office_day, random_mix, recorded_mix, write_trace
from gates.model.settings import GatePolicy

LONG = 100_000


@pytest.mark.slow
def test_the_recorded_mix_gives_the_numbers_of_the_page() -> None:
    assert table(play([recorded_mix()])) == table(parsed(DOCUMENT.read_text(), "recorded"))


def test_the_trace_is_what_the_generator_makes(tmp_path: Path) -> None:
    write_trace(office_day(), tmp_path / "mix.jsonl")
    assert (tmp_path / "mix.jsonl").read_text() == TRACE.read_text()


def test_the_picture_shows_the_tables_of_the_page() -> None:
    text = DOCUMENT.read_text()
    shown = dict(zip(titles(), (parsed(text, name) for name in ("random", "recorded")), strict=True))
    assert draw(shown) == PICTURE.read_text()


def test_equal_seeds_give_equal_numbers() -> None:
    for policy in MODES.values():
        assert Fleet(random_mix(3, 1), policy).play() == Fleet(random_mix(3, 1), policy).play()


def full(worker: str, name: str, pods: int = 1) -> list[Arrival]:
    """Return what fills both queues of a worker; only the shared one is for the hub's work."""
    return [
        Arrival(0, name, worker, "shared", 0, pods, 16 // pods, LONG),
        Arrival(0, f"{name}-own", worker, "own", 0, 1, 16, LONG),
    ]


URGENT = Arrival(3600, "urgent", None, "shared", 100, 1, 16, 60)


@pytest.mark.parametrize(("name", "policy"), MODES.items(), ids=MODES)
def test_without_gates_every_full_worker_preempts_and_with_gates_one(name: str, policy: GatePolicy | None) -> None:
    mix = [*full("w1", "a", 4), *full("w2", "b"), *full("w3", "c", 2), URGENT]
    outcome = Fleet(mix, policy).play()
    assert outcome.placed == 1
    assert outcome.victims == (3 if name == UNGATED else 1)
    assert outcome.wasted == (2 if name == UNGATED else 0)
    lost = {UNGATED: 7 * 3600, GatePolicy.LEAST_DISRUPTION: 3600}.get(name, 4 * 3600)
    assert outcome.lost_pod_seconds == lost


@pytest.mark.parametrize("roomy", ["w1", "w2", "w3"])
def test_a_worker_with_room_spares_everybody_with_gates(roomy: str) -> None:
    mix = [each for name in ("w1", "w2", "w3") if name != roomy for each in full(name, f"{name}-low")] + [URGENT]
    for name, policy in MODES.items():
        outcome = Fleet(mix, policy).play()
        assert (outcome.victims, outcome.wasted) == ((2, 2) if name == UNGATED else (0, 0)), name


ODD = {
    "no JSON": ("{", "mix.jsonl:1: Expecting property name"),
    "a field that is not known": ('{"at": 0, "colour": "red"}', "mix.jsonl:1: Arrival.__init__() got an unexpected"),
    "a worker that is not there": (
        '{"at": 0, "name": "a", "worker": "w9", "queue": "own", "priority": 0, "pods": 1, "cpu": 1, "runs": 1}',
        "worker is 'w9': must be null or one of w1, w2, w3",
    ),
    "a queue that is not there": (
        '{"at": 0, "name": "a", "worker": null, "queue": "x", "priority": 0, "pods": 1, "cpu": 1, "runs": 1}',
        "queue is 'x': must be one of own, shared",
    ),
    "nothing to run": (
        '{"at": 0, "name": "a", "worker": null, "queue": "own", "priority": 0, "pods": 0, "cpu": 1, "runs": 1}',
        "pods and cpu from 1",
    ),
}


@pytest.mark.parametrize(("line", "message"), ODD.values(), ids=ODD)
def test_a_trace_that_is_malformed_is_reported_by_its_line(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "mix.jsonl"
    path.write_text(f"{line}\n")
    with pytest.raises(ValueError, match=r"mix\.jsonl:1: ") as caught:
        recorded_mix(path)
    assert message in str(caught.value)
