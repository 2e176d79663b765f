"""`python -m tests.simulation.mutants`: plants each bug in a copy of the tree and plays histories until one shows."""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import NoReturn

from tests.simulation.mutants.planting import PlantingError, planted
from tests.simulation.mutants.table import MUTANTS, Mutant

ROOT = Path(__file__).parents[3]
_PACKAGES = (
    "config",
    "engine",
    "gates",
    "workerclient",
    "localcluster",
    "manager",
    "tests/simulation",
    "tests/support",
)


def main() -> int:
    """Try all mutants, and return 1 if more than one in twenty survives."""
    chosen = _parsed()
    mutants = [mutant for mutant in MUTANTS if chosen.named in mutant.name]
    if not mutants:
        _refuse(f'MUTANTS: "{chosen.named}" is in no name, which are: {"; ".join(m.name for m in MUTANTS)}')
    try:
        for mutant in mutants:
            planted(mutant, ROOT)
    except PlantingError as error:
        _refuse(str(error))
    survivors = 0
    sys.stdout.write("| planted bug | brings back | caught at seed | by the law |\n|---|---|---|---|\n")
    for mutant, found in _all_tried(mutants, chosen):
        survivors += found is None
        seed, law = found or ("not", "")
        sys.stdout.write(f"| {mutant.name} | {mutant.origin} | {seed} | {law} |\n")
        sys.stdout.flush()
    sys.stdout.write(f"\n{len(mutants) - survivors} of {len(mutants)} caught within {chosen.seeds} seeds\n")
    return 1 if survivors * 20 > len(mutants) else 0


def _all_tried(mutants: list[Mutant], chosen: argparse.Namespace) -> Iterator[tuple[Mutant, tuple[str, str] | None]]:
    """Try several at a time, each in a copy of the tree in which all other modules are compiled already."""
    with tempfile.TemporaryDirectory() as directory, ThreadPoolExecutor(int(chosen.processes)) as pool:
        copies: SimpleQueue[Path] = SimpleQueue()
        for number in range(int(chosen.processes)):
            copies.put(copied(Path(directory) / str(number)))

        def attempt(mutant: Mutant) -> tuple[str, str] | None:
            copy, began = copies.get(), time.monotonic()
            try:
                return tried(mutant, copy, chosen.seeds, chosen.base)
            finally:
                copies.put(copy)
                sys.stderr.write(f"{mutant.name}: {time.monotonic() - began:.0f} s\n")

        yield from zip(mutants, pool.map(attempt, mutants), strict=True)


def copied(root: Path) -> Path:
    """Copy the tree to where bugs may be planted."""
    for package in _PACKAGES:
        shutil.copytree(ROOT / package, root / package)
    (root / "tests/__init__.py").touch()
    return root


@contextmanager
def _with_bug(mutant: Mutant, root: Path) -> Iterator[None]:
    path, changed = planted(mutant, root)
    before = path.read_text()
    path.write_text(changed)
    try:
        yield
    finally:
        path.write_text(before)


def tried(mutant: Mutant, root: Path, seeds: str, base: str) -> tuple[str, str] | None:
    """Return how many histories it took to notice a bug, and the law that it violates; None if it was not noticed."""
    options = ("--seeds", seeds, "--base", base, "--processes", "1", "--first", "--shrink", "0")
    with _with_bug(mutant, root):
        run = subprocess.run(
            [sys.executable, "-P", "-m", "tests.simulation", *options],
            cwd=root,
            env={**os.environ, "PYTHONPATH": str(root)},
            capture_output=True,
            text=True,
            check=False,
        )
    if run.returncode == 0:
        return None
    found = re.search(r"^seed (\d+): (.+?) at [\d.]+ s", run.stdout, re.MULTILINE)
    if found is None:
        raise SystemExit(f"{mutant.name}: {run.stdout[-2000:]}{run.stderr[-2000:]}")
    return str(int(found.group(1)) - int(base) + 1), found.group(2)


def _parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make mutants")
    parser.add_argument("--seeds", default="500")
    parser.add_argument("--base", default="1")
    parser.add_argument("--processes", default="2")
    parser.add_argument("--named", default="", help="words of the names of those to try")
    chosen = parser.parse_args()
    if not chosen.seeds.isdigit() or int(chosen.seeds) < 1:
        _refuse(f'SEEDS: "{chosen.seeds}" is not allowed: must be a whole number from 1 on')
    return chosen


def _refuse(message: str) -> NoReturn:
    sys.stderr.write(f"{message}\n")
    raise SystemExit(2)


if __name__ == "__main__":
    sys.exit(main())
