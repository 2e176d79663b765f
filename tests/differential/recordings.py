"""Answers of real Kueue kept in tests/data, so that the engine is checked against it where there is no Go.

`python -m tests.differential.recordings` asks the oracle again and rewrites the files.
"""

import gzip
import json
from pathlib import Path

from tests.differential.catalogue import Json
from tests.differential.oracle import ask, build_oracle
from tests.differential.scenarios import many

_DATA = Path(__file__).parents[1] / "data"
NOMINATIONS = _DATA / "nominations.jsonl.gz"
CYCLES = _DATA / "cycles.jsonl.gz"

#: Profile, first seed, count: seeds of their own.
_NOMINATION_SEEDS = [
    ("classical", 1, 70),
    ("fair", 1, 70),
    ("mixed", 1, 70),
    ("gates", 1, 50),
    ("odd", 1, 30),
    ("ties", 1, 10),
]
_CYCLE_SEEDS = [("cycles", 1, 60)]


def load(path: Path) -> list[Json]:
    """Return the recorded scenarios, each with `expect`."""
    with gzip.open(path, "rt") as lines:
        return [json.loads(line) for line in lines]


def question(recorded: Json) -> Json:
    """Return the scenario without its answer."""
    return {key: value for key, value in recorded.items() if key != "expect"}


def _record(path: Path, command: str, seeds: list[tuple[str, int, int]]) -> None:
    scenarios = [scenario for profile, first, count in seeds for scenario in many(profile, first, count)]
    answers = ask([build_oracle(), command], scenarios)
    lines = [
        json.dumps(scenario | {"expect": answer["expect"]}, separators=(",", ":"))
        for scenario, answer in zip(scenarios, answers, strict=True)
    ]
    # No time stamp in the header: equal content is an equal file.
    path.write_bytes(gzip.compress(("\n".join(lines) + "\n").encode(), mtime=0))


if __name__ == "__main__":
    _DATA.mkdir(exist_ok=True)
    _record(NOMINATIONS, "label", _NOMINATION_SEEDS)
    _record(CYCLES, "cycles", _CYCLE_SEEDS)
