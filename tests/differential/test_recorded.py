"""The recorded answers of real Kueue: the engine gives the same, and Kueue still does."""

from pathlib import Path

from tests.differential.comparison import disagreement, is_ambiguous, normal, outcomes
from tests.differential.cycle_answers import Prediction
from tests.differential.oracle import ask
from tests.differential.recordings import CYCLES, CYCLES_OF_RELEASES, NOMINATIONS, load, question


def test_engine_gives_the_recorded_nominations(engine: list[str | Path]) -> None:
    recorded = load(NOMINATIONS)
    predicted = ask(engine, map(question, recorded))
    found = [
        f"{real['name']}: {difference}"
        for real, guess in zip(recorded, predicted, strict=True)
        if (difference := disagreement(real, guess))
    ]
    assert not found, f"{len(found)} of {len(recorded)} disagree\n" + "\n".join(found[:10])


def test_engine_runs_the_recorded_cycles_of_other_releases() -> None:
    recorded = load(CYCLES_OF_RELEASES)
    found = [
        f"{real['kueueVersion']} {real['name']}: {difference}"
        for real in recorded
        if (difference := Prediction(question(real)).disagreement(real))
    ]
    assert not found, f"{len(found)} of {len(recorded)} disagree\n" + "\n".join(found[:10])
    assert {real["kueueVersion"] for real in recorded} == {"v0.17.1", "v0.18.3", "v0.19.0"}


def test_a_refusal_worded_by_chance_is_named_where_it_decides() -> None:
    *_, real = load(CYCLES_OF_RELEASES)
    assert any("words shortages by chance" in label for label in Prediction(question(real)).labels)


def test_recordings_cover_every_kind_of_outcome() -> None:
    seen = [normal(outcome) for real in load(NOMINATIONS) for outcome in outcomes(real["expect"])]
    reasons = {target[2] for outcome in seen for target in outcome["targets"]}
    assert reasons == {"InClusterQueue", "InCohortReclamation", "InCohortReclaimWhileBorrowing", "InCohortFairSharing"}
    assert {outcome["mode"] for outcome in seen} == {"Fit", "Preempt", "NoFit"}
    assert {outcome["borrowing"] for outcome in seen} >= {None, 0, 1, 2, 3}
    assert any(outcome["counts"] for outcome in seen)


def test_real_kueue_still_gives_the_recorded_nominations(oracle: Path) -> None:
    recorded = load(NOMINATIONS)
    for real, answer in zip(recorded, ask([oracle, "label", "-runs", "1"], map(question, recorded)), strict=True):
        assert normal(answer["expect"]) in [normal(outcome) for outcome in outcomes(real["expect"])], real["name"]


def test_real_kueue_still_runs_the_recorded_cycles(oracle: Path) -> None:
    recorded = [real for real in load(CYCLES) if not is_ambiguous(real["expect"])]
    for real, answer in zip(recorded, ask([oracle, "cycles", "-runs", "1"], map(question, recorded)), strict=True):
        assert answer["expect"] == real["expect"], real["name"]
