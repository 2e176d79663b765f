"""`make compare-partition`: Kueue's own MultiKueue controller and Turnstile while a worker cannot be reached.

Two tables from one bed of real clusters: whether a second gate opens early while the first worker is out of reach, and
whether a frozen worker holds up jobs that a healthy one could take.
"""

import argparse
import asyncio
import sys
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path

from benchmarks import isolation, second_gate
from benchmarks.second_gate import LOSSES, WHENS
from tests.e2e.clusters import run_real
from tests.realbed.build import ToolchainError, install_go

_TABLES = ("gates", "isolation")


async def compare(arguments: argparse.Namespace) -> None:
    """Run what was asked for on one bed and print the tables."""
    losses = [loss for loss in LOSSES if arguments.loss in (None, loss.name)]
    whens = [when for when in WHENS if arguments.when in (None, when)]
    async with AsyncExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="partition-")))
        clusters = await stack.enter_async_context(run_real(directory / "bed"))
        if arguments.table in (None, "gates"):
            await second_gate.compare(clusters, directory, losses, whens)
        if arguments.table in (None, "isolation"):
            print(f"\n{arguments.jobs} jobs:\n")
            await isolation.compare(clusters, directory, arguments.jobs)


def main() -> int:
    """Run the comparison from the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.partition", description=__doc__)
    parser.add_argument("--table", choices=_TABLES, help="only this table")
    parser.add_argument("--loss", choices=[loss.name for loss in LOSSES], help="gates: only this way to be lost")
    parser.add_argument("--when", choices=WHENS, help="gates: only this moment")
    parser.add_argument("--jobs", type=int, default=isolation.JOBS, help="isolation: how many jobs (default 40)")
    arguments = parser.parse_args()
    if not 1 <= arguments.jobs <= 100_000:
        parser.error("--jobs: must be a whole number from 1 to 100000")
    try:
        install_go()
        asyncio.run(compare(arguments))
    except ToolchainError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
