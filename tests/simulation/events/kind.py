"""What a kind of event is, and the parts from which its drawing is put together."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from tests.simulation.drawing import Draw
from tests.simulation.plan import TROUBLE_ENDS, Event, Setting
from tests.simulation.system import System

Target = Callable[[Random, Setting], str]


@dataclass(frozen=True)
class EventKind:
    """One kind of event."""

    draw: Draw
    begin: Callable[[System, Event], None]
    end: Callable[[System, Event], None] | None = None


def moment(chance: Random) -> float:
    """Draw a time at which trouble may begin."""
    return round(chance.uniform(2.0, TROUBLE_ENDS - 10.0), 3)


def lasting(kind: str, target: Target, longest: float = 60.0, values: tuple[str, ...] = ("",)) -> Draw:
    """Return what draws an event that has an end."""

    def drawn(chance: Random, setting: Setting) -> Event:
        at = moment(chance)
        much = chance.choice((2.0, 12.0, longest, 2.5 * longest))
        seconds = min(chance.uniform(1.0, much), TROUBLE_ENDS - at)
        return Event(at, kind, target(chance, setting), round(seconds, 3), chance.choice(values))

    return drawn


def once(kind: str, target: Target, values: tuple[str, ...] = ("",)) -> Draw:
    """Return what draws an event without an end."""

    def drawn(chance: Random, setting: Setting) -> Event:
        return Event(moment(chance), kind, target(chance, setting), value=chance.choice(values))

    return drawn


def a_worker(chance: Random, setting: Setting) -> str:
    """Draw a worker."""
    return chance.choice(setting.workers).name


def a_cluster(chance: Random, setting: Setting) -> str:
    """Draw a cluster."""
    return chance.choice(("hub", *(worker.name for worker in setting.workers)))


def a_daemon(chance: Random, setting: Setting) -> str:
    """Draw a daemon."""
    return f"daemon-{chance.randint(1, setting.daemons)}"


def a_way(chance: Random, setting: Setting) -> str:
    """Draw a cluster, or the way of one daemon to it."""
    cluster = a_cluster(chance, setting)
    return f"{a_daemon(chance, setting)}>{cluster}" if chance.random() < 0.3 else cluster


def a_job(chance: Random, _setting: Setting) -> str:
    """Draw a job, which may not exist."""
    return chance.choice(("job-0", "job-0", "job-1", "job-2"))
