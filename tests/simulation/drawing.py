"""Draws a history from its seed, before anything runs.

Most settings are contended: every worker is full, its jobs stop slowly and the timeout is short, so that several gates
open for each job. Half of the events follow a moment, such as the record of an opening, closely: trouble counts most
while something is under way, and a moment drawn from minutes hardly ever meets it.
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from random import Random
from typing import Final

from tests.simulation.plan import JOBS, SERVING, TROUBLE_ENDS, VERSION, Event, Moment, Plan, Setting, WorkerSetting

Draw = Callable[[Random, Setting], Event]
"""Draws one event of a kind."""

_DECISIVE: Final = (
    "wire: requests arrive late",
    "wire: requests do not arrive",
    "wire: answers do not arrive",
    "wire: 500 for what was carried out",
    "worker cut off",
    "partition",
    "watches are cut",
    "watches fall silent",
    "daemon is killed",
    "daemon stands still",
    "daemon's clock is set",
    "etcd is restored",
    "record is edited",
    "copy is deleted",
    "Workload is deactivated",
)
"""What matters most while a write is on its way."""
_MOMENTS: Final = (Moment.QUOTA, *[Moment.RECORD] * 3, *[Moment.OPENING] * 3, *[Moment.ADMITTED] * 2, *Moment)


def draw(seed: int, kinds: dict[str, Draw], allowed: Iterable[str] = ()) -> Plan:
    """Return the history of a seed; `allowed` are the only kinds of trouble in it, if any is given."""
    chance = Random(f"history {VERSION} {seed}")
    is_contended = chance.random() < 0.65
    setting = _draw_setting(chance, is_contended)
    jobs = list(_draw_jobs(chance, is_contended))
    allowed = tuple(allowed)
    names = [name for name in kinds if not allowed or name in allowed]
    decisive = [name for name in names if name in _DECISIVE] or names
    troubles = []
    for _ in range(chance.choice((0, 1, 2, 3, 5, 8, 12, 20))):
        follows = chance.random() < 0.5
        kind = chance.choice(decisive if follows and chance.random() < 0.5 else names)
        event = kinds[kind](chance, setting)
        troubles.append(_following(event, chance, setting) if follows else _timed(event, chance, jobs))
        if follows and chance.random() < 0.4:
            troubles.append(_beside(troubles[-1], kinds[chance.choice(decisive)](chance, setting), chance, setting))
    return Plan(seed, setting, tuple(sorted([*jobs, *troubles], key=lambda event: (bool(event.after), event.at))))


def within_time(event: Event) -> Event:
    """Return an event that is over by the time at which all trouble is."""
    at = min(event.at, TROUBLE_ENDS - 10.0)
    return replace(event, at=at, seconds=round(min(event.seconds, TROUBLE_ENDS - at), 3))


def _following(event: Event, chance: Random, setting: Setting) -> Event:
    delay = chance.choice(
        (0.0, chance.uniform(0.0, 0.3), chance.expovariate(1 / 3.0), chance.uniform(0.0, setting.timeout + 5.0))
    )
    moment, nth = chance.choice(_MOMENTS), chance.choice((1, 1, 1, 2, 2, 3, 5))
    target = _close_by(event.target, moment, setting) if chance.random() < 0.7 else event.target
    return replace(event, at=round(delay, 3), target=target, after=str(moment), nth=nth)


def _beside(first: Event, event: Event, chance: Random, setting: Setting) -> Event:
    """Return an event that strikes together with another one: some mistakes show only when two things go wrong."""
    at = round(first.at + chance.choice((0.0, chance.uniform(0.0, 2.0))), 3)
    target = _close_by(event.target, Moment(first.after), setting)
    return replace(event, at=at, target=target, after=first.after, nth=first.nth)


def _close_by(target: str, moment: Moment, setting: Setting) -> str:
    """Return the worker or the job that a moment is about, for a target of that sort."""
    way, arrow, what = target.rpartition(">")
    if what in JOBS and what != SERVING:
        return "%"
    is_worker = what in [worker.name for worker in setting.workers] and moment is not Moment.QUOTA
    return f"{way}{arrow}@" if is_worker else target


def _timed(event: Event, chance: Random, jobs: list[Event]) -> Event:
    if chance.random() < 0.5:
        event = replace(event, at=round(chance.choice(jobs).at + chance.expovariate(1 / 20.0), 3))
    return within_time(event)


def _draw_setting(chance: Random, is_contended: bool) -> Setting:
    timeout = chance.choice((20, 20, 30) if is_contended else (20, 30, 60, 120))
    slow = (timeout + 15, 2 * timeout, 3 * timeout)
    workers = tuple(
        WorkerSetting(
            f"w{number}",
            occupied=is_contended or chance.random() < 0.8,
            stop_seconds=chance.choice((2, *slow, *slow) if is_contended else (0, 2, 10, *slow)),
            skew_seconds=round(chance.choice((0.0, 0.0, chance.uniform(-5, 5), chance.uniform(-600, 600))), 3),
            kueue=chance.choice((*["current"] * 16, "kep", "kep", "gates-off", "before-gates")),
        )
        for number in range(1, chance.choice((2, 2, 3, 3, 3, 4)) + 1)
    )
    return Setting(
        workers,
        daemons=chance.choice((1, 1, 2, 3)),
        timeout=timeout,
        lost=chance.choice((90, 150, 240)),
        latency=chance.choice((0.002, 0.02, 0.2)),
        dispatcher=chance.choice(("AllAtOnce", "AllAtOnce", "AllAtOnce", "Incremental")),
        is_one_machine=chance.random() < 0.5,
        forecasts=chance.random() < 0.15,
        second_check=chance.random() < 0.1,
    )


def _draw_jobs(chance: Random, is_contended: bool) -> Iterable[Event]:
    for number in range(chance.choice((1, 2, 3, 4) if is_contended else (1, 1, 2, 3))):
        at = round(chance.uniform(1.0, 130.0) if number else chance.uniform(0.5, 20.0), 3)
        shape = {
            "cpu": chance.choice((2, 4, 4)),
            "priority": chance.choice(("high", "high", "high", "low")),
            "runs": chance.choice((5, 20, 60) if is_contended else (5, 20, 60, 120)),
            "stops": chance.choice((0, 0, 5)),
        }
        yield Event(at, "submit", f"job-{number}", value=json.dumps(shape, sort_keys=True))
