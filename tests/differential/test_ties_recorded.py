"""Situations in which real Kueue itself varies, with everything that it did in hundreds of runs.

Sibling cohorts of equal share tie, and a tie early in the search for one flavor decides which flavor is taken.
"""

import gzip
import json
from pathlib import Path

import pytest

from manager.cli.predict.scenarios import answer
from tests.differential.catalogue import Json

RECORDED = Path(__file__).parents[1] / "data" / "ties.jsonl.gz"
SITUATIONS = [json.loads(line) for line in gzip.decompress(RECORDED.read_bytes()).splitlines()]


def summary(outcome: Json) -> tuple[str, str, int, int]:
    flavors = next(iter(outcome["flavors"].values()))
    return outcome["mode"], flavors["cpu"], outcome["borrowing"], len(outcome["targets"])


@pytest.mark.parametrize("situation", SITUATIONS, ids=[each["name"] for each in SITUATIONS])
def test_exactly_what_kueue_did_is_listed(situation: Json) -> None:
    seen = {(each["mode"], each["flavor"], each["borrowing"], each["targets"]) for each in situation["outcomes"]}
    assert sum(each["seen"] for each in situation["outcomes"]) == situation["runs"]
    assert {summary(outcome) for outcome in answer(situation)["expect"]["ambiguous"]} == seen
