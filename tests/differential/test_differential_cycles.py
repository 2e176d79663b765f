"""Fresh random scenarios every day: several cycles of the engine are several cycles of real Kueue.

Compared are admissions with flavors, counts and usage, victims with reasons, conditions, events, gates, and who is
queued or parked, after every cycle. Repeat a failing run with TURNSTILE_DIFFERENTIAL_SEED=<the seed it printed>; widen
one with TURNSTILE_DIFFERENTIAL_COUNT=<scenarios>.
"""

import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.differential.catalogue import Json
from tests.differential.comparison import is_ambiguous
from tests.differential.crowds import crowded_cycles
from tests.differential.cycle_answers import Prediction
from tests.differential.oracle import ask
from tests.differential.recordings import CYCLES, load, question
from tests.differential.scenarios import cycles

_SEED, _COUNT = "TURNSTILE_DIFFERENTIAL_SEED", "TURNSTILE_DIFFERENTIAL_COUNT"
#: A simulation that may shrug proves nothing; equal workloads are made on purpose in a third of the crowded scenarios.
_AMBIGUOUS_AT_MOST = 0.2


@pytest.fixture(scope="module")
def first_seed() -> int:
    """Return a seed that is new every day and the same within one."""
    return int(os.environ.get(_SEED) or datetime.now(UTC).date().toordinal() * 100_000)


@pytest.mark.parametrize(("scenario", "count"), [(cycles, 75), (crowded_cycles, 75)], ids=["plain", "crowded"])
def test_engine_and_real_kueue_agree(
    scenario: Callable[[int], Json], count: int, first_seed: int, oracle: Path
) -> None:
    count = int(os.environ.get(_COUNT) or count)
    scenarios = [scenario(seed) for seed in range(first_seed, first_seed + count)]
    real, predicted = ask([oracle, "cycles", "-runs", "3"], scenarios), [Prediction(item) for item in scenarios]
    found = {
        item["name"]: difference
        for item, truth, guess in zip(scenarios, real, predicted, strict=True)
        if (difference := guess.disagreement(truth))
    }
    report = "\n".join(f"{name}: {difference}" for name, difference in list(found.items())[:10])
    assert not found, f"{len(found)} of {len(scenarios)} disagree, {_SEED}={first_seed}\n{report}"
    shrugs = sum(guess.is_ambiguous for guess in predicted)
    assert shrugs <= len(scenarios) * _AMBIGUOUS_AT_MOST, f"{shrugs} of {len(scenarios)} answers are ambiguous"


def test_engine_runs_the_recorded_cycles() -> None:
    recorded = load(CYCLES)
    found = [
        f"{real['name']}: {difference}"
        for real in recorded
        if (difference := Prediction(question(real)).disagreement(real))
    ]
    assert not found, f"{len(found)} of {len(recorded)} disagree\n" + "\n".join(found[:10])


def test_recorded_cycles_cover_what_happens_in_cycles() -> None:
    real = [item["expect"] for item in load(CYCLES) if not is_ambiguous(item["expect"])]
    seen = [cycle for simulation in real for cycle in simulation["cycles"]]
    assert {simulation["stopped"] for simulation in real} == {"NoHeads", "Quiet", "Limit"}
    assert any(cycle["admitted"] for cycle in seen)
    assert any(cycle["preempted"] for cycle in seen)
    assert any(cycle["released"] for cycle in seen)
    assert any(cycle["queues"]["parked"] for cycle in seen)
