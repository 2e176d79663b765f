"""Mixes of work for a fleet: drawn by chance from a seed, or read from a recorded trace.

A trace is one JSON object per line: when a workload comes, to which worker it belongs (null: to the hub, which may send
it anywhere), to which queue, what it asks for, and for how long it runs.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Final

TRACE: Final = Path(__file__).parent / "data" / "mix.jsonl"
WORKERS: Final = ("w1", "w2", "w3")
QUEUES: Final = ("own", "shared")
CPUS: Final = 32
"""What each worker has, shared by two queues."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """One workload that comes."""

    at: int
    """Seconds since the beginning."""
    name: str
    worker: str | None
    queue: str
    priority: int
    pods: int
    cpu: int
    """For each pod."""
    runs: int
    """Seconds, if it is not interrupted."""


def random_mix(seed: int, hours: int = 6) -> list[Arrival]:
    """Draw a mix: workers that are busy with work of their own, and work of the hub that is often more urgent."""
    draw = Random(seed)
    found = []
    end = hours * 3600
    for worker in WORKERS:
        at, number = 0, 0
        while at < end:
            found.append(_local(draw, at, f"{worker}-{number:03}", worker))
            at, number = at + round(draw.expovariate(1 / 420)), number + 1
    at, number = 600, 0
    while at < end:
        found.append(_hub(draw, at, f"hub-{number:03}"))
        at, number = at + round(draw.expovariate(1 / 360)), number + 1
    return sorted(found, key=lambda each: (each.at, each.name))


def recorded_mix(path: Path = TRACE) -> list[Arrival]:
    """Read a trace; raises `ValueError` with one sentence for a malformed one."""
    found = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        try:
            found.append(_checked(Arrival(**json.loads(line))))
        except (TypeError, ValueError) as error:
            raise ValueError(f"{path}:{number}: {error}") from error
    return found


def _checked(arrival: Arrival) -> Arrival:
    if arrival.worker not in (None, *WORKERS):
        raise ValueError(f"worker is {arrival.worker!r}: must be null or one of {', '.join(WORKERS)}")
    if arrival.queue not in QUEUES:
        raise ValueError(f"queue is {arrival.queue!r}: must be one of {', '.join(QUEUES)}")
    numbers: list[object] = [arrival.at, arrival.priority, arrival.runs, arrival.pods - 1, arrival.cpu - 1]
    if not all(isinstance(number, int) and number >= 0 for number in numbers):
        raise ValueError("at, priority and runs must be whole numbers from 0, pods and cpu from 1")
    return arrival


def write_trace(arrivals: Iterable[Arrival], path: Path) -> None:
    """Keep a mix as a trace."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(asdict(each))}\n" for each in arrivals))


def office_day(seed: int = 7) -> list[Arrival]:
    """Draw the day that the trace holds: long batch work from the night, and bursts of urgent work by day.

    Unlike `random_mix` it comes in waves: every hour a handful of urgent workloads at once, of different sizes.
    """
    draw = Random(seed)
    found = []
    for worker in WORKERS:
        found += [
            _local(draw, draw.randint(0, 900), f"{worker}-night-{number:02}", worker, hours=6) for number in range(14)
        ]
        for number in range(24):
            at = 1800 + number * 1200 + draw.randint(0, 600)
            found.append(_local(draw, at, f"{worker}-day-{number:02}", worker))
    for hour in range(1, 9):
        for number in range(draw.randint(3, 6)):
            at = hour * 3600 + draw.randint(0, 240)
            found.append(_hub(draw, at, f"wave-{hour}-{number}"))
    return sorted(found, key=lambda each: (each.at, each.name))


def _local(draw: Random, at: int, name: str, worker: str, hours: float = 1.5) -> Arrival:
    return Arrival(
        at=at,
        name=name,
        worker=worker,
        queue=draw.choice(["own", "own", "shared"]),
        priority=draw.choice([0, 0, 0, 10]),
        pods=draw.choice([1, 2, 2, 4, 8]),
        cpu=draw.choice([1, 2]),
        runs=draw.randint(900, round(hours * 7200)),
    )


def _hub(draw: Random, at: int, name: str) -> Arrival:
    return Arrival(
        at=at,
        name=name,
        worker=None,
        queue="shared",
        priority=draw.choice([5, 50, 50, 100]),
        pods=draw.choice([1, 2, 4, 8]),
        cpu=draw.choice([1, 2]),
        runs=draw.randint(600, 3600),
    )
