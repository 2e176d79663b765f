"""Fresh random scenarios every day: the engine predicts exactly what real Kueue decides.

Repeat a failing run with TURNSTILE_DIFFERENTIAL_SEED=<the seed it printed>; widen one with
TURNSTILE_DIFFERENTIAL_COUNT=<scenarios per profile>.
"""

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.differential.comparison import disagreement, is_ambiguous
from tests.differential.oracle import ask
from tests.differential.scenarios import many

_SEED, _COUNT = "TURNSTILE_DIFFERENTIAL_SEED", "TURNSTILE_DIFFERENTIAL_COUNT"
#: A predictor that may shrug proves nothing: real ties are rare.
_AMBIGUOUS_AT_MOST = 0.05


@pytest.fixture(scope="module")
def first_seed() -> int:
    """Return a seed that is new every day and the same within one."""
    return int(os.environ.get(_SEED) or datetime.now(UTC).date().toordinal() * 100_000)


@pytest.mark.parametrize(
    ("profile", "count"),
    [("classical", 140), ("fair", 140), ("mixed", 140), ("gates", 80), ("odd", 60), ("ties", 40)],
    ids=str,
)
def test_engine_and_real_kueue_agree(
    profile: str, count: int, first_seed: int, oracle: Path, engine: list[str | Path]
) -> None:
    scenarios = list(many(profile, first_seed, int(os.environ.get(_COUNT) or count)))
    real, predicted = ask([oracle, "label"], scenarios), ask(engine, scenarios)
    found = {
        scenario["name"]: difference
        for scenario, truth, guess in zip(scenarios, real, predicted, strict=True)
        if (difference := disagreement(truth, guess))
    }
    report = "\n".join(f"{name}: {difference}" for name, difference in list(found.items())[:10])
    assert not found, f"{len(found)} of {len(scenarios)} disagree, {_SEED}={first_seed}\n{report}"
    shrugs = sum(is_ambiguous(guess["expect"]) for guess in predicted)
    assert shrugs <= len(scenarios) * _AMBIGUOUS_AT_MOST, f"{shrugs} of {len(scenarios)} answers are `ambiguous`"
