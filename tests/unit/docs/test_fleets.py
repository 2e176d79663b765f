"""The table of fleets in docs/real-kueue.md is that of the suite."""

import re
from pathlib import Path

import pytest

from tests.e2e.fleets import FLEETS, chosen_releases
from tests.realbed.build import KUEUE_VERSION

_PAGE = Path(__file__).parents[3] / "docs" / "real-kueue.md"
_ROW = re.compile(r"^\| `([a-z-]+)` \| (v[0-9.]+) \| (v[0-9.]+) \| (v[0-9.]+) \|$", re.MULTILINE)


def test_the_table_names_every_fleet() -> None:
    rows = {
        name: dict(zip(("hub", "worker-1", "worker-2"), each, strict=True))
        for name, *each in _ROW.findall(_PAGE.read_text())
    }
    usual = dict.fromkeys(("hub", "worker-1", "worker-2"), KUEUE_VERSION)
    assert rows == {name: usual | dict(releases) for name, releases in FLEETS.items()}


def test_an_unknown_fleet_is_one_line_with_what_is_allowed() -> None:
    with pytest.raises(ValueError, match="E2E_FLEET='old' is not allowed: one-release, old-workers, "):
        chosen_releases({"E2E_FLEET": "old"})
