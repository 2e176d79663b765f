"""The engine predicts what each release of Kueue decides, and knows its feature gates.

A run compares one release, which changes from day to day; TURNSTILE_KUEUE_VERSIONS=all (or a list such as
v0.17.1,v0.19.0) names others, and TURNSTILE_DIFFERENTIAL_SEED and TURNSTILE_DIFFERENTIAL_COUNT work as for nominations.
"""

import os
import secrets
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.versions.profiles import profile_of
from tests.conformance.servers import is_continuous_integration
from tests.differential.catalogue import Json
from tests.differential.comparison import disagreement
from tests.differential.crowds import crowded_cycles
from tests.differential.cycle_answers import Prediction
from tests.differential.oracle import OTHER_VERSIONS, ask, build_oracle, for_release, gates_of
from tests.differential.scenarios import cycles, many
from tests.realbed.build import ToolchainError

_VERSIONS, _SEED, _COUNT = (
    "TURNSTILE_KUEUE_VERSIONS",
    "TURNSTILE_DIFFERENTIAL_SEED",
    "TURNSTILE_DIFFERENTIAL_COUNT",
)
_PER_PROFILE = {"classical": 60, "fair": 60, "mixed": 60, "gates": 40, "odd": 60, "ties": 20}
_CYCLES = 60
_DAY_SECONDS = 86_400
_STAGES = {"ALPHA": "a", "BETA": "b", "": "G", "DEPRECATED": "D"}


def versions_of_this_run() -> list[str]:
    named = os.environ.get(_VERSIONS) or ""
    if named == "all":
        return list(OTHER_VERSIONS)
    today = int(time.time()) // _DAY_SECONDS
    return named.split(",") if named else [OTHER_VERSIONS[today % len(OTHER_VERSIONS)]]


@pytest.fixture(scope="module", params=versions_of_this_run())
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def release(version: str) -> Path:
    """Return the oracle of the release."""
    try:
        return build_oracle(version)
    except ToolchainError as error:
        if is_continuous_integration():
            raise
        pytest.skip(f"no real Kueue {version} to compare with: {error}")


def test_the_gates_and_their_defaults_are_known(version: str, release: Path) -> None:
    real = gates_of(release)
    known = profile_of(version).gate_table.stages
    assert known.keys() <= real.keys()
    assert {name: stage[0] for name, stage in known.items()} == {name: _STAGES[real[name]["stage"]] for name in known}
    assert {name for name, stage in known.items() if stage in ("G", "b1")} == {
        name for name in known if real[name]["on"]
    }


def test_engine_and_release_agree(version: str, release: Path, engine: list[str | Path]) -> None:
    seed = int(os.environ.get(_SEED) or secrets.randbits(48))
    gates = gates_of(release)
    scenarios = [
        for_release(scenario, version, gates)
        for profile, count in _PER_PROFILE.items()
        for scenario in many(profile, seed, int(os.environ.get(_COUNT) or count))
    ]
    real, predicted = ask([release, "label"], scenarios), ask(engine, scenarios)
    found = {
        scenario["name"]: difference
        for scenario, truth, guess in zip(scenarios, real, predicted, strict=True)
        if not _is_foretold_crash(truth, guess) and (difference := disagreement(truth, guess))
    }
    report = "\n".join(f"{name}: {difference}" for name, difference in list(found.items())[:10])
    assert not found, f"{len(found)} of {len(scenarios)} disagree, Kueue {version}, {_SEED}={seed}\n{report}"


@pytest.mark.parametrize("scenario", [cycles, crowded_cycles], ids=["plain", "crowded"])
def test_engine_and_release_run_the_same_cycles(scenario: Callable[[int], Json], version: str, release: Path) -> None:
    seed = int(os.environ.get(_SEED) or secrets.randbits(48))
    count = int(os.environ.get(_COUNT) or _CYCLES)
    gates = gates_of(release)
    scenarios = [for_release(scenario(each), version, gates) for each in range(seed, seed + count)]
    real, predicted = ask([release, "cycles", "-runs", "3"], scenarios), map(Prediction, scenarios)
    found = {
        item["name"]: difference
        for item, truth, guess in zip(scenarios, real, predicted, strict=True)
        if (difference := guess.disagreement(truth))
    }
    report = "\n".join(f"{name}: {difference}" for name, difference in list(found.items())[:10])
    assert not found, f"{len(found)} of {count} disagree, Kueue {version}, {_SEED}={seed}\n{report}"


def _is_foretold_crash(truth: Json, guess: Json) -> bool:
    return "panicked" in truth.get("error", "") and any(
        label.startswith("kueue-crash") for label in guess.get("labels", ())
    )
