"""The corpus: for each parser a file with the inputs that reached something new, one JSON string in a line.

The bytes of an input are the characters of its string, in Latin-1.
"""

import functools
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from types import FrameType
from typing import Any

from tests.fuzz.parsers.table import FuzzedParser

CORPUS = Path(__file__).parents[1] / "corpus"
_ROOT = str(Path(__file__).parents[3])
_CACHED = type(functools.cache(len))


def load(parser: FuzzedParser, corpus: Path = CORPUS) -> list[bytes]:
    """Return the inputs of a parser: those that it reads every day, and those that were found."""
    path = corpus / f"{parser.name}.jsonl"
    found = [json.loads(line).encode("latin-1") for line in path.read_text().splitlines()] if path.exists() else []
    return list(dict.fromkeys((*parser.seeds, *found)))


def keep(parser: FuzzedParser, inputs: Iterable[bytes], corpus: Path = CORPUS) -> int:
    """Write the inputs of a parser, and return how many there are."""
    kept = sorted(set(inputs) - set(parser.seeds), key=lambda each: (len(each), each))
    corpus.mkdir(exist_ok=True)
    (corpus / f"{parser.name}.jsonl").write_text("".join(f"{json.dumps(each.decode('latin-1'))}\n" for each in kept))
    return len(kept)


def smallest(parser: FuzzedParser, inputs: Iterable[bytes]) -> list[bytes]:
    """Return inputs that together go every way that all of them go, short ones first."""
    reached: set[tuple[str, int, int]] = set()
    chosen = []
    for data in sorted(inputs, key=lambda each: (each not in parser.seeds, len(each), each)):
        ways = _ways(parser, data)
        if not ways <= reached:
            reached |= ways
            chosen.append(data)
    return chosen


def _forget_results() -> None:
    """Empty the caches of the product's functions: a result that is known already goes no way at all."""
    for module in list(sys.modules.values()):
        if (getattr(module, "__file__", None) or "").startswith(_ROOT):
            for function in vars(module).values():
                if isinstance(function, _CACHED):
                    function.cache_clear()


def _ways(parser: FuzzedParser, data: bytes) -> set[tuple[str, int, int]]:
    """Return from which line to which a parser goes in the product's modules."""
    ways: set[tuple[str, int, int]] = set()
    last: dict[FrameType, int] = {}

    def trace(frame: FrameType, event: str, _argument: Any) -> Any:
        if not frame.f_code.co_filename.startswith(_ROOT) or "site-packages" in frame.f_code.co_filename:
            return None
        if event == "line":
            ways.add((frame.f_code.co_filename, last.get(frame, 0), frame.f_lineno))
            last[frame] = frame.f_lineno
        return trace

    _forget_results()
    sys.settrace(trace)
    try:
        parser.run(data)
    finally:
        sys.settrace(None)
    return ways
