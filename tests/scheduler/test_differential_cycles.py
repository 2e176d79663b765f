"""Fresh random situations in every run: the engine lists exactly what one cycle of real kube-scheduler may do.

Repeat a failing run with TURNSTILE_DIFFERENTIAL_SEED=<the seed it printed>; widen one with
TURNSTILE_DIFFERENTIAL_COUNT=<situations per profile>.
"""

import os
import secrets
from pathlib import Path

import pytest

from tests.differential.oracle import ask
from tests.scheduler.comparison import Answer, answer, is_complete, outcomes_of
from tests.scheduler.oracle import Oracles, ask_oracle
from tests.scheduler.situations import many
from tests.support.builders import Json

_SEED, _COUNT = "TURNSTILE_DIFFERENTIAL_SEED", "TURNSTILE_DIFFERENTIAL_COUNT"
_RUNS = 8
#: What is listed and was not seen is looked for again, so many times: one order of four nodes out of all is missed by
#: that many runs once in 10^11 times. Long lists are products of ties whose members are too rare to wait for.
_PATIENT_RUNS, _SHORT_LIST = 600, 4
#: 1.36 tries a group's members in no fixed order and places them again for every unit, so that odd situations have
#: outcomes which the engine does not foresee: about 1 of 1,000. 1.37 has none to excuse.
_MISSED_AT_MOST = {"1.37": 0.0, "1.36": 0.03}
#: A forecast that may shrug proves nothing.
_OPEN_ENDED_AT_MOST = 0.04


@pytest.fixture(scope="module")
def first_seed() -> int:
    """Return a seed that no run had before, unless one is to be repeated."""
    return int(os.environ.get(_SEED) or secrets.randbits(48))


@pytest.mark.parametrize(("profile", "count"), [("plain", 80), ("odd", 120)], ids=str)
@pytest.mark.parametrize("release", ["1.37", "1.36"])
def test_engine_lists_exactly_what_the_real_scheduler_may_do(
    release: str, profile: str, count: int, first_seed: int, oracles: Oracles, engine: list[str | Path]
) -> None:
    scenarios = list(many(profile, first_seed, int(os.environ.get(_COUNT) or count)))
    lines = ask(engine, scenarios)
    predicted = {line["name"]: answer(outcomes_of(line, release), release) for line in lines}
    open_ended = {line["name"] for line in lines if not is_complete(line, release)}
    assert len(open_ended) <= len(scenarios) * _OPEN_ENDED_AT_MOST, f"{sorted(open_ended)} are not listed completely"
    seen = _seen(oracles[release], scenarios, release, _RUNS)
    again = [each for each in scenarios if _is_short_of(seen[each["name"]], predicted[each["name"]])]
    seen |= _seen(oracles[release], again, release, _PATIENT_RUNS) if again else {}
    found = [
        f"{name}: seen but not listed {sorted(seen[name] - listed)}, listed but not seen {sorted(listed - seen[name])}"
        for name, listed in predicted.items()
        if name not in open_ended and (not seen[name] <= listed or _is_short_of(seen[name], listed))
    ]
    report = "\n".join(found[:10])
    told = f"{len(found)} of {len(scenarios)} disagree, {_SEED}={first_seed}\n{report}"
    assert len(found) <= len(scenarios) * _MISSED_AT_MOST[release], told


def _is_short_of(seen: Answer, listed: Answer) -> bool:
    return seen < listed and len(listed) <= _SHORT_LIST


def _seen(oracle: Path, scenarios: list[Json], release: str, runs: int) -> dict[str, Answer]:
    lines = ask_oracle(oracle, scenarios, runs=runs)
    return {line["name"]: answer(outcomes_of(line, release), release) for line in lines}
