"""Answers of real kube-scheduler kept in tests/data, so that the engine is checked against it where there is no Go.

`python -m tests.scheduler.recordings` asks both releases again and rewrites the file.
"""

import gzip
import json
from pathlib import Path

from tests.scheduler.comparison import outcomes_of
from tests.scheduler.oracle import ask_oracle, build_oracles
from tests.scheduler.situations import many
from tests.support.builders import Json

POD_CYCLES = Path(__file__).parents[1] / "data" / "pod-cycles.jsonl.gz"

#: Profile, first seed, count: seeds of their own.
_SEEDS = [("plain", 1, 120), ("odd", 1, 180)]
_RUNS = 64


def load() -> list[Json]:
    """Return the recorded scenarios, each with `expect`."""
    with gzip.open(POD_CYCLES, "rt") as lines:
        return [json.loads(line) for line in lines]


def question(recorded: Json) -> Json:
    """Return the scenario without its answer."""
    return {key: value for key, value in recorded.items() if key != "expect"}


def _record() -> None:
    scenarios = [scenario for profile, first, count in _SEEDS for scenario in many(profile, first, count)]
    expected: list[dict[str, Json]] = [{} for _ in scenarios]
    for release, oracle in build_oracles().items():
        for known, line in zip(expected, ask_oracle(oracle, scenarios, runs=_RUNS), strict=True):
            known[release] = {"outcomes": outcomes_of(line, release)}
    lines = [
        json.dumps(scenario | {"expect": known}, separators=(",", ":"))
        for scenario, known in zip(scenarios, expected, strict=True)
    ]
    # No time stamp in the header: equal content is an equal file.
    POD_CYCLES.write_bytes(gzip.compress(("\n".join(lines) + "\n").encode(), mtime=0))


if __name__ == "__main__":
    _record()
