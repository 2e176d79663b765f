"""How long a workload remembers where its flavor scan ended; acceptance scenario 52."""

from dataclasses import dataclass

import pytest

from engine.search.scan_memory import ScanRecord
from engine.vocabulary.features import FeatureGates

RECORD = ScanRecord(tried=({"cpu": 0},), generation=5, cycle=10, shape="shape")


@dataclass(frozen=True)
class Case:
    """The circumstances of the next scan."""

    want_outdated: bool
    generation: int = 5
    cycle: int = 11
    shape: str | None = "shape"
    preserves: bool = True


CASES = {
    "the next cycle believes it, whatever happened": Case(want_outdated=False, generation=9),
    "52 two cycles later it is outdated if room was made": Case(want_outdated=True, generation=6, cycle=12),
    "two cycles later it is believed if nothing happened": Case(want_outdated=False, cycle=12),
    "another shape starts over at once": Case(want_outdated=True, shape="other"),
    "an unknown shape is taken to be the same": Case(want_outdated=False, shape=None),
    "without the gate, room made in between outdates it at once": Case(
        want_outdated=True, generation=6, preserves=False
    ),
    "without the gate, another shape does not matter": Case(want_outdated=False, shape="other", preserves=False),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_outdated(case: Case) -> None:
    gates = FeatureGates(flavor_fungibility_preserve_scan_progress=case.preserves)
    assert RECORD.is_outdated(case.generation, case.cycle, case.shape, gates) == case.want_outdated


@pytest.mark.parametrize(
    ("tried", "want"),
    [((), False), (({},), False), (({"cpu": -1},), False), (({"cpu": -1}, {"cpu": 2}), True)],
    ids=["nothing was scanned", "nothing fits", "all flavors were tried", "some pod set has flavors left"],
)
def test_untried_flavors(tried: tuple[dict[str, int], ...], want: bool) -> None:
    assert ScanRecord(tried, 0, 0, None).has_untried_flavors == want
