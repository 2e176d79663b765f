"""Answers of real Kueue kept in tests/data, so that the engine is checked against it where there is no Go.

`python -m tests.differential.recordings` asks the oracle again and rewrites the files.
"""

import gzip
import json
from pathlib import Path

from tests.differential.catalogue import Json
from tests.differential.crowds import crowded_cycles
from tests.differential.oracle import ask, build_oracle, for_release, gates_of
from tests.differential.scenarios import cycles, many

_DATA = Path(__file__).parents[1] / "data"
NOMINATIONS = _DATA / "nominations.jsonl.gz"
CYCLES = _DATA / "cycles.jsonl.gz"
CYCLES_OF_RELEASES = _DATA / "cycles-of-releases.jsonl.gz"

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
_RELEASES, _RELEASE_SEEDS = ("v0.17.1", "v0.18.3", "v0.19.0"), range(777000, 777012)
_WORDED_BY_CHANCE = 777014
"""With the last of them: what a refusal says decides whether a scan of flavors goes on."""


def load(path: Path) -> list[Json]:
    """Return the recorded scenarios, each with `expect`."""
    with gzip.open(path, "rt") as lines:
        return [json.loads(line) for line in lines]


def question(recorded: Json) -> Json:
    """Return the scenario without its answer."""
    return {key: value for key, value in recorded.items() if key != "expect"}


def _record(path: Path, command: str, seeds: list[tuple[str, int, int]]) -> None:
    scenarios = [scenario for profile, first, count in seeds for scenario in many(profile, first, count)]
    _write(path, scenarios, ask([build_oracle(), command], scenarios))


def _record_releases(path: Path) -> None:
    """Record cycles of the releases whose cycles are not those of the one in go.mod."""
    scenarios: list[Json] = []
    answers: list[Json] = []
    for version in _RELEASES:
        release = build_oracle(version)
        asked = [for_release(crowded_cycles(seed), version, gates_of(release)) for seed in _RELEASE_SEEDS]
        scenarios.extend(asked)
        answers.extend(ask([release, "cycles", "-runs", "2"], asked))
    by_chance = for_release(cycles(_WORDED_BY_CHANCE), version, gates_of(release))
    scenarios.append(by_chance)
    answers.extend(ask([release, "cycles", "-runs", "2"], [by_chance]))
    _write(path, scenarios, answers)


def _write(path: Path, scenarios: list[Json], answers: list[Json]) -> None:
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
    _record_releases(CYCLES_OF_RELEASES)
