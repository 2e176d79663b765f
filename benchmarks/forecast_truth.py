"""`make forecast-truth`: do forecasts come true on real Kueue?

Random situations are set up on a real worker: cohort trees with quota, limits and policies of every kind, several
flavors, a crowd of jobs that real Kueue admitted. Then a job arrives on the hub, and Turnstile does what it always
does: it sends a copy, and when the worker's Kueue asks to preempt, writes down what it expects, opens the gate and
verifies. What Turnstile says of itself is held against the worker's objects by code that shares nothing with it. Then
the job goes, its victims come back, and another one arrives. Exit code 1 if a forecast missed.
"""

import argparse
import asyncio
import secrets
import sys
import tempfile
import time
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path

from tests.e2e.clusters import run_real
from tests.e2e.scene import Scene
from tests.e2e.series import Series, failures, tally
from tests.e2e.trials import Ending, Outcome
from tests.realbed.bed import BedOptions
from tests.realbed.build import ToolchainError, install_go

_EVERY = 20


async def run(situations: int, seed: int, at_once: int) -> Series:
    """Play until that many situations were about a preemption."""
    async with AsyncExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="truth-")))
        clusters = await stack.enter_async_context(run_real(directory / "bed", BedOptions(workers=1)))
        scene = Scene(f"f-{secrets.token_hex(2)}", clusters, directory)
        stack.push_async_callback(scene.tear_down)
        series = Series(scene, seed, situations, at_once, lambda outcome: _note(series, outcome))
        await series.run()
        return series


def _note(series: Series, outcome: Outcome) -> None:
    if failures([outcome]):
        print(f"{outcome.name}: {outcome.ending}: {outcome.message}", file=sys.stderr, flush=True)
    if len(series.outcomes) % _EVERY == 0:
        done = f"{len(series.outcomes)} situations, {len(series.preempting)} about a preemption"
        print(f"{done}, {len(failures(series.outcomes))} missed", file=sys.stderr, flush=True)


def report(outcomes: list[Outcome], seconds: float) -> str:
    """Return the table and the rate."""
    counted = tally(outcomes)
    lines = ["| what became of the forecast | situations |", "|---|---|"]
    lines += [f"| {ending} | {counted[ending]} |" for ending in Ending if counted[ending]]
    reasons = Counter(reason for each in outcomes for reason in each.reasons)
    promised = counted[Ending.EXACT] + counted[Ending.MISSED] + counted[Ending.CONTRADICTED]
    rate = 100 * counted[Ending.EXACT] / promised if promised else 0.0
    lines += [
        "",
        f"{len(outcomes)} situations in {seconds:.0f} s; {promised} forecasts were acted on and can be judged",
        f"victims: {sum(each.victims for each in outcomes)}, at most {max(each.victims for each in outcomes)} at once",
        f"openings that Kueue overlooked and that were repeated: {sum(each.nudges for each in outcomes)}",
        f"situations by reason: {', '.join(f'{reason} {n}' for reason, n in sorted(reasons.items()))}",
        f"exact: {counted[Ending.EXACT]} of {promised}, {rate:.1f} %",
    ]
    return "\n".join(lines)


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.forecast_truth", description=__doc__)
    parser.add_argument("--situations", type=int, default=200, help="how many about a preemption (default 200)")
    parser.add_argument("--seed", type=int, default=1, help="the seed of the first situation (default 1)")
    parser.add_argument("--at-once", type=int, default=16, help="how many side by side (default 16)")
    arguments = parser.parse_args()
    for name in ("situations", "seed", "at_once"):
        if not 1 <= getattr(arguments, name) <= 1_000_000:
            parser.error(f"--{name.replace('_', '-')}: must be a whole number from 1 to 1000000")
    began = time.monotonic()
    try:
        install_go()
        series = asyncio.run(run(arguments.situations, arguments.seed, arguments.at_once))
    except ToolchainError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(report(series.outcomes, time.monotonic() - began))
    return 1 if failures(series.outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
