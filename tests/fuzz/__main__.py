"""`python -m tests.fuzz --cases 100000 --seed 1`: what `make fuzz` runs. Ends with 1 if something was found."""

import argparse
import asyncio
import sys
import time
from io import StringIO

from config.sections.process import Logging
from manager.logging.logs import configure_logging
from tests.fuzz.trial import Outcome, fuzzed

_BATCH = 5_000
"""After so many answers the link begins afresh, so that what is learnt from one seed does not shape the rest."""


def main() -> int:
    """Fuzz and report."""
    parser = argparse.ArgumentParser(prog="make fuzz")
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--seed", default=str(int(time.time())))
    chosen = parser.parse_args()
    log = StringIO()
    configure_logging(Logging(), log)
    outcome = Outcome()
    print(f"seed {chosen.seed}", flush=True)  # noqa: T201 - a command
    for batch in range(-(-chosen.cases // _BATCH)):
        before = outcome.cases
        asyncio.run(fuzzed(min(_BATCH, chosen.cases - before), f"{chosen.seed}-{batch}", outcome))
        print(f"{outcome.cases} answers, {len(outcome.findings)} findings", flush=True)  # noqa: T201 - a command
        if outcome.findings:
            break
    for line in outcome.findings:
        print(line)  # noqa: T201 - a command
    if outcome.findings:
        print(log.getvalue()[-20_000:])  # noqa: T201 - a command
    print(  # noqa: T201 - a command
        f"connected {outcome.connected} times, {outcome.objects} objects at once, {outcome.unreadable} unreadable, "
        f"longest stretch {outcome.longest_stretch * 1000:.0f} ms, errors {outcome.refused}"
    )
    return 1 if outcome.findings else 0


if __name__ == "__main__":
    sys.exit(main())
