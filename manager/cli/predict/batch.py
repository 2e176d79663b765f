"""`--batch`: one scenario per line in, one answer per line out, in the same order.

A line that cannot be used gets an answer with an `error` and the run goes on.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import orjson

Answer = Callable[[Mapping[str, Any]], dict[str, Any]]


def answer_standard_input(answer: Answer) -> None:
    """Answer line by line; each answer is written before the next line is read."""
    for line in answer_lines(sys.stdin.buffer, answer):
        sys.stdout.buffer.write(line + b"\n")
        sys.stdout.buffer.flush()


def answer_lines(lines: Iterable[bytes], answer: Answer) -> Iterator[bytes]:
    """Answer every line that is not blank."""
    for line in lines:
        if line.strip():
            yield orjson.dumps(_answered(line, answer))


def _answered(line: bytes, answer: Answer) -> dict[str, Any]:
    try:
        scenario = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        return {"name": None, "error": f"the line is not JSON: {error}"}
    if not isinstance(scenario, dict):
        return {"name": None, "error": "the line is not a JSON object"}
    name = scenario.get("name")
    try:
        return {"name": name, **answer(scenario)}
    except ValueError as error:
        return {"name": name, "error": str(error)}
