"""Plays one history and returns what became of it."""

import asyncio
import contextlib
import gc
import logging
from dataclasses import dataclass
from io import StringIO
from random import Random
from typing import Final

from config.sections.process import Logging
from manager.logging.logs import configure_logging
from tests.simulation.events.catalogue import schedule
from tests.simulation.laws.facts import Violation
from tests.simulation.loop import DeadlockError, LivelockError, SimulatedLoop
from tests.simulation.oracle import Oracle
from tests.simulation.plan import TROUBLE_ENDS, Plan
from tests.simulation.system import System

_LOOK_SECONDS: Final = 5.0
_QUIET_SECONDS: Final = 20.0
"""How long nothing may be left to do before a history ends."""


@dataclass(frozen=True)
class Outcome:
    """What became of a history."""

    plan: Plan
    violations: tuple[Violation, ...]
    trace: tuple[str, ...]
    digest: str
    rules: dict[str, int]
    openings: int
    forecasts: int
    """How many forecasts were recorded as exact."""
    seconds: float
    """Virtual seconds."""
    log: str = ""


def patience(plan: Plan) -> float:
    """Return how long after all trouble everything must be done."""
    setting = plan.setting
    return 700.0 + setting.timeout * len(setting.workers) + setting.lost


def play(plan: Plan, *, logs: bool = False) -> Outcome:
    """Play a history to its end."""
    log = StringIO()
    configure_logging(Logging(level="debug" if logs else "error"), log)
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    loop = SimulatedLoop(Random(f"{plan.seed}/loop"))
    gc.disable()
    held: list[tuple[System, Oracle]] = []
    try:
        loop.run_until_complete(_play(plan, loop, held))
    except (LivelockError, DeadlockError) as error:
        held[0][1].violate("no livelock", str(error))
    finally:
        _close(loop)
        gc.enable()
    system, oracle = held[0]
    return Outcome(
        plan,
        tuple(oracle.violations),
        tuple(system.trace.lines),
        system.trace.digest(),
        system.reached.rules,
        oracle.openings.openings,
        oracle.forecasts.exact,
        loop.time(),
        log.getvalue(),
    )


async def _play(plan: Plan, loop: SimulatedLoop, held: list[tuple[System, Oracle]]) -> None:
    system = System(plan, loop)
    oracle = Oracle(system)
    held.append((system, oracle))
    schedule(system)
    system.start()
    quiet, end = 0.0, TROUBLE_ENDS + patience(plan)
    system.trouble_until = max((event.at for event in plan.events if not event.after), default=0.0)
    while loop.time() < end and quiet < _QUIET_SECONDS and not oracle.violations:
        await asyncio.sleep(_LOOK_SECONDS)
        oracle.look()
        is_done = loop.time() > system.trouble_until + 1.0 and not oracle.unfinished()
        quiet = quiet + _LOOK_SECONDS if is_done else 0.0
    if not oracle.violations:
        oracle.finish(len(asyncio.all_tasks(loop)))
    await system.end()


def _close(loop: SimulatedLoop) -> None:
    """Leave nothing behind for the next history."""
    loop.set_exception_handler(lambda _loop, _context: None)
    for task in asyncio.all_tasks(loop):
        task.cancel()
    with contextlib.suppress(LivelockError, DeadlockError):
        loop.run_until_complete(asyncio.sleep(1.0))
    loop.close()
