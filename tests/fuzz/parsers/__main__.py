"""`python -m tests.fuzz.parsers`: what `make fuzz-parsers` runs. Ends with 1 if something was found."""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NoReturn

from tests.fuzz.parsers.corpus import keep, load, smallest
from tests.fuzz.parsers.table import PARSERS, FuzzedParser

_LONGEST = 3_000
"""How many bytes an input may have."""


def main() -> int:
    """Fuzz one parser after the other, each in a process of its own."""
    chosen = _parsed()
    failed = 0
    for parser in chosen.parsers:
        with tempfile.TemporaryDirectory() as directory:
            failed += not _fuzzed(parser, Path(directory), chosen.seconds, is_kept=chosen.keep)
    sys.stdout.write(f"{len(chosen.parsers)} parsers, {failed} with a finding\n")
    return 1 if failed else 0


def _fuzzed(parser: FuzzedParser, directory: Path, seconds: int, *, is_kept: bool) -> bool:
    for number, data in enumerate(load(parser)):
        (directory / str(number)).write_bytes(data)
    artifacts = Path("build") / "fuzz"
    artifacts.mkdir(parents=True, exist_ok=True)
    limits = (f"-max_len={_LONGEST}", "-timeout=10", f"-artifact_prefix={artifacts}/{parser.name}-")
    run = _run(parser, (str(directory), f"-max_total_time={seconds}", *limits))
    if run.returncode:
        sys.stdout.write(f"{parser.name}: FINDING\n{run.stderr[-4000:]}\n")
        return False
    executed = next((line.split()[1] for line in run.stderr.splitlines() if line.startswith("Done ")), "?")
    kept = ""
    if is_kept:
        kept = f", {keep(parser, smallest(parser, [path.read_bytes() for path in directory.iterdir()]))} inputs kept"
    sys.stdout.write(f"{parser.name}: {executed} inputs tried{kept}\n")
    sys.stdout.flush()
    return True


def _run(parser: FuzzedParser, arguments: tuple[str, ...]) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "tests.fuzz.parsers.target", parser.name, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, errors="replace")


def _parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make fuzz-parsers")
    parser.add_argument("--seconds", default="60", help="how long each parser is fuzzed")
    parser.add_argument("--parser", default="", help="the only one, by its name")
    parser.add_argument("--keep", action="store_true", help="write the smallest corpus that reaches everything")
    chosen = parser.parse_args()
    if not chosen.seconds.isdigit() or not 0 < int(chosen.seconds) < 10**6:
        _refuse(f'SECONDS: "{chosen.seconds}" is not allowed: must be a whole number from 1 on')
    chosen.seconds = int(chosen.seconds)
    chosen.parsers = [each for each in PARSERS if chosen.parser in ("", each.name)]
    if not chosen.parsers:
        _refuse(f'PARSER: "{chosen.parser}" is not known, must be one of: {", ".join(each.name for each in PARSERS)}')
    return chosen


def _refuse(message: str) -> NoReturn:
    sys.stderr.write(f"{message}\n")
    raise SystemExit(2)


if __name__ == "__main__":
    sys.exit(main())
