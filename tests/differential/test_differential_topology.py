"""Fresh random scenarios with topologies in every run: where pods go, whom they displace, and what is said about it.

Repeat a failing run with TURNSTILE_DIFFERENTIAL_SEED=<the seed it printed>; widen one with
TURNSTILE_DIFFERENTIAL_COUNT=<scenarios>.
"""

import os
import secrets
from pathlib import Path

import pytest

from tests.differential.catalogue import Json
from tests.differential.comparison import disagreement, outcomes
from tests.differential.cycle_answers import Prediction
from tests.differential.oracle import ask
from tests.differential.topologies import topology_cycles, topology_nomination

_SEED, _COUNT = "TURNSTILE_DIFFERENTIAL_SEED", "TURNSTILE_DIFFERENTIAL_COUNT"


@pytest.fixture(scope="module")
def first_seed() -> int:
    """Return a seed that no run had before, unless one is to be repeated."""
    return int(os.environ.get(_SEED) or secrets.randbits(48))


def test_nominations_agree_with_real_kueue(first_seed: int, oracle: Path, engine: list[str | Path]) -> None:
    count = int(os.environ.get(_COUNT) or 320)
    scenarios = [topology_nomination(seed) for seed in range(first_seed, first_seed + count)]
    real, predicted = ask([oracle, "label", "-runs", "3"], scenarios), ask(engine, scenarios)
    found = {
        scenario["name"]: difference
        for scenario, truth, guess in zip(scenarios, real, predicted, strict=True)
        if (difference := disagreement(truth, guess) or wrong_message(scenario, truth, guess))
    }
    report = "\n".join(f"{name}: {difference}" for name, difference in list(found.items())[:10])
    assert not found, f"{len(found)} of {count} disagree, {_SEED}={first_seed}\n{report}"
    assert sum(bool(answer["expect"].get("topology")) for answer in predicted) > count // 4
    assert sum(bool(answer["expect"]["targets"]) for answer in predicted) > count // 20


def wrong_message(scenario: Json, truth: Json, guess: Json) -> str | None:
    """Return how the message differs; in a group Kueue names either pod set."""
    incoming = next(item for item in scenario["objects"] if item["metadata"]["name"] == "incoming")
    requests = [pod_set.get("topologyRequest") or {} for pod_set in incoming["spec"]["podSets"]]
    if any("podSetGroupName" in request for request in requests):
        return None
    said, possible = guess["expect"].get("message"), [each.get("message") for each in outcomes(truth["expect"])]
    return None if said in possible else f"message {said!r} instead of {possible}"


def test_cycles_agree_with_real_kueue(first_seed: int, oracle: Path) -> None:
    count = int(os.environ.get(_COUNT) or 110)
    scenarios = [topology_cycles(seed) for seed in range(first_seed, first_seed + count)]
    real = ask([oracle, "cycles", "-runs", "2"], scenarios)
    found = {
        scenario["name"]: difference
        for scenario, truth in zip(scenarios, real, strict=True)
        if (difference := Prediction(scenario).disagreement(truth))
    }
    report = "\n".join(f"{name}: {difference}" for name, difference in list(found.items())[:10])
    assert not found, f"{len(found)} of {count} disagree, {_SEED}={first_seed}\n{report}"
