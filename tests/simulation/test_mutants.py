"""Every planted bug is still a change of the product, in one place, that Python can read."""

import ast
from pathlib import Path

import pytest

from tests.simulation.mutants.planting import PlantingError, planted
from tests.simulation.mutants.table import MUTANTS, Mutant

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("mutant", MUTANTS, ids=[mutant.name for mutant in MUTANTS])
def test_a_planted_bug_fits_the_product(mutant: Mutant) -> None:
    path, changed = planted(mutant, ROOT)
    assert changed != path.read_text()
    ast.parse(changed)


def test_planted_bugs_are_many_and_each_is_another() -> None:
    assert len(MUTANTS) >= 40
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
    assert len({(mutant.path, mutant.old, mutant.new) for mutant in MUTANTS}) == len(MUTANTS)


BUG = Mutant("adds wrongly", "gates/adding.py", "    return first + second", "    return first - second")
PLACES = {
    "where it was": ("gates/adding.py", "def add(first, second):\n    return first + second\n"),
    "with other line breaks": ("gates/adding.py", "def add(first, second):\n    return first + \\\n        second\n"),
    "in another module": ("gates/sums/plain.py", "def add(first, second):\n    return first + second\n"),
}


@pytest.mark.parametrize(("path", "content"), PLACES.values(), ids=PLACES)
def test_code_is_found(path: str, content: str, tmp_path: Path) -> None:
    module = tmp_path / path
    module.parent.mkdir(parents=True)
    module.write_text(content.replace("\\\n", "\n"))
    assert planted(BUG, tmp_path) == (module, "def add(first, second):\n    return first - second\n")


@pytest.mark.parametrize("times", [0, 2])
def test_code_that_is_gone_or_there_twice_is_named(times: int, tmp_path: Path) -> None:
    (tmp_path / "gates").mkdir()
    (tmp_path / "gates/adding.py").write_text("def add(first, second):\n    return first + second\n" * times)
    with pytest.raises(PlantingError, match='"adds wrongly": its piece of code is in'):
        planted(BUG, tmp_path)
