"""`python -m tests.simulation`: plays many histories, and shows the shortest one that violates a law."""

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import NoReturn, TextIO

from gates.model.rules import Rule
from tests.simulation.drawing import draw
from tests.simulation.events.catalogue import KINDS, TROUBLE
from tests.simulation.history import Outcome, play
from tests.simulation.plan import Plan, PlanError, load
from tests.simulation.shrinking import shrunk

SHRINKING = 60
"""How many histories are played to make one shorter."""
_PROGRESS_SECONDS = 5.0
_BAR = 30
"""How many characters the bar has that shows progress."""


@dataclass
class Tally:
    """What many histories led to."""

    histories: int = 0
    seconds: float = 0.0
    openings: int = 0
    forecasts: int = 0
    """That came true by what the workers did."""
    faults: Counter[str] = field(default_factory=Counter)
    rules: Counter[str] = field(default_factory=Counter)
    failed: list[Outcome] = field(default_factory=list)

    def add(self, outcome: Outcome) -> None:
        """Take one history."""
        self.histories += 1
        self.seconds += outcome.seconds
        self.openings += outcome.openings
        self.forecasts += outcome.forecasts
        self.faults.update(event.kind for event in outcome.plan.events)
        self.rules.update(outcome.rules)
        if outcome.violations:
            self.failed.append(outcome)


def play_seed(seed: int, only: tuple[str, ...] = ()) -> Outcome:
    """Play the history of a seed."""
    return _light(play(draw(seed, TROUBLE, only)))


def _light(outcome: Outcome) -> Outcome:
    """Return an outcome without its trace unless that is of interest."""
    return outcome if outcome.violations else Outcome(**{**vars(outcome), "trace": ()})


def play_seeds(seeds: range, only: tuple[str, ...], processes: int) -> Iterator[Outcome]:
    """Play histories in several processes, in order of their seeds."""
    if processes == 1:
        yield from (play_seed(seed, only) for seed in seeds)
        return
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        remaining = iter(seeds)
        waiting = [pool.submit(play_seed, seed, only) for seed in islice(remaining, 4 * processes)]
        while waiting:
            outcome = waiting.pop(0).result()
            waiting += [pool.submit(play_seed, seed, only) for seed in islice(remaining, 1)]
            yield outcome


def main(arguments: list[str] | None = None, out: TextIO = sys.stdout) -> int:
    """Run the command; 1 if a law was violated, 2 for arguments that cannot be used."""
    chosen = _parsed(arguments)
    if chosen.replay is not None:
        return max(_replay(path, chosen.trace, out) for path in chosen.replay)
    only = tuple(chosen.only.split(",")) if chosen.only else ()
    for name in only:
        if name not in TROUBLE:
            _refuse(f'--only: "{name}" is not a kind of event, must be one of: {", ".join(TROUBLE)}')
    seeds = range(chosen.base, chosen.base + chosen.seeds)
    out.write(f"base {chosen.base}, {chosen.seeds} seeds in {chosen.processes} processes\n")
    out.flush()
    tally, began, told = Tally(), time.monotonic(), time.monotonic()
    for outcome in play_seeds(seeds, only, chosen.processes):
        tally.add(outcome)
        if chosen.digests:
            out.write(f"seed {outcome.plan.seed}: {outcome.digest}\n")
        if outcome.violations:
            out.write(f"seed {outcome.plan.seed}: {outcome.violations[0]}\n")
            out.flush()
        if tally.failed and chosen.first:
            break
        if time.monotonic() - told > _PROGRESS_SECONDS:
            told = time.monotonic()
            out.write(progress(tally, len(seeds), told - began))
            out.flush()
    report(tally, time.monotonic() - began, chosen.base, out)
    for failed in tally.failed[: chosen.shrink]:
        show(shrunk(failed, SHRINKING), out, Path(chosen.keep) if chosen.keep else None)
    return 1 if tally.failed else 0


def progress(tally: Tally, seeds: int, seconds: float) -> str:
    """Return a line that shows how far a run has come."""
    filled = _BAR * tally.histories // seeds
    rate = tally.histories / seconds if seconds else 0.0
    left = f"{(seeds - tally.histories) / rate:.0f} s left" if rate else "time unknown"
    bar = "#" * filled + "." * (_BAR - filled)
    return f"[{bar}] {tally.histories}/{seeds}, {rate:.1f} seeds/s, {left}, {len(tally.failed)} violations\n"


def report(tally: Tally, seconds: float, base: int, out: TextIO) -> None:
    """Write what was played."""
    rate = tally.histories / seconds if seconds else 0.0
    out.write(
        f"base {base}: {tally.histories} seeds in {seconds:.0f} s ({rate:.1f} seeds/s), "
        f"{tally.seconds / 3600:.1f} virtual hours, {tally.openings} gates opened, {tally.forecasts} exact forecasts, "
        f"{len(tally.failed)} histories with a violation\n"
    )
    faults = ", ".join(f"{name} {count}" for name, count in tally.faults.most_common())
    out.write(f"events: {faults}\n")
    reached = ", ".join(f"{name} {count}" for name, count in tally.rules.most_common())
    out.write(f"rules reached ({len(tally.rules)} of {len(Rule)}): {reached}\n")
    missing = sorted(rule.value for rule in Rule if rule.value not in tally.rules)
    out.write(f"rules not reached: {', '.join(missing) or 'none'}\n")


def show(outcome: Outcome, out: TextIO, keep: Path | None) -> None:
    """Write a history that violates a law, and how to play it again."""
    plan = outcome.plan
    out.write(f"\nseed {plan.seed}, {len(plan.events)} events left\n{plan.setting}\n")
    out.writelines(f"{event.at:10.3f}  {event}\n" for event in plan.events)
    out.writelines(f"VIOLATION {violation}\n" for violation in outcome.violations)
    out.write("\n".join(outcome.trace[-60:]) + "\n")
    path = (keep or Path("build")) / f"seed-{plan.seed}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(plan.dumps())
    out.write(f"replay: .venv/bin/python -m tests.simulation --replay {path} --trace\n")


def _replay(path: str, trace: bool, out: TextIO) -> int:
    try:
        plan: Plan = load(Path(path), KINDS)
    except PlanError as error:
        _refuse(str(error))
    outcome = play(plan)
    if trace:
        out.write("\n".join(outcome.trace) + "\n")
    out.writelines(f"VIOLATION {violation}\n" for violation in outcome.violations)
    out.write(f"{path}: {len(outcome.violations)} violations, trace {outcome.digest}\n")
    return 1 if outcome.violations else 0


def _parsed(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make simulate", exit_on_error=False)
    parser.add_argument("--seeds", default="1000")
    parser.add_argument("--base", default="")
    parser.add_argument("--processes", default=str(min(2, os.cpu_count() or 1)))
    parser.add_argument("--only", default="", help="the only kinds of trouble, separated by commas")
    parser.add_argument("--first", action="store_true", help="stop at the first violation")
    parser.add_argument("--shrink", type=int, default=1, help="how many violations are made shorter")
    parser.add_argument("--keep", default="", help="where histories with violations are written")
    parser.add_argument("--digests", action="store_true", help="show what each trace can be recognised by")
    parser.add_argument("--replay", nargs="+", help="histories from files")
    parser.add_argument("--trace", action="store_true", help="show all that happens in it")
    try:
        chosen = parser.parse_args(arguments)
    except argparse.ArgumentError as error:
        _refuse(str(error))
    chosen.seeds = _number("SEEDS", chosen.seeds, 1)
    chosen.processes = _number("--processes", chosen.processes, 1)
    chosen.base = _number("BASE", chosen.base, 0) if chosen.base else int(time.time())
    return chosen


def _number(name: str, text: str, least: int) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 12 and int(text) >= least):
        _refuse(f'{name}: "{text}" is not allowed: must be a whole number from {least} on')
    return int(text)


def _refuse(message: str) -> NoReturn:
    sys.stderr.write(f"{message}\n")
    raise SystemExit(2)
