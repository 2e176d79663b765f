"""The annotations in which Turnstile keeps its own records on a hub Workload.

One that is damaged never keeps the rest of the Workload from being read: what it held counts as not known, and what is
wrong with it is reported.
"""

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar

from config.api.identifiers import ReplicaUID
from gates.model import marks
from gates.model.forecasts import ForecastRecord, parse_record
from gates.model.texts import cut
from gates.model.view import OutOfSync
from gates.wire.annotations import parse_openings, parse_winner

if TYPE_CHECKING:
    from gates.model.openings import Opening

Value = TypeVar("Value")

_SHOWN: Final = 64
"""How much of an annotation that cannot be read is shown."""


class OwnRecords:
    """What the annotations of a hub Workload say."""

    def __init__(self, annotations: Mapping[str, str]) -> None:
        self._annotations = annotations
        self.problems: dict[str, str] = {}
        """What is wrong with annotations that cannot be read, by their names."""
        openings = "a list of {cluster, replicaUID, openedAtUnixNano}"
        self.openings: tuple[Opening, ...] = self._read(marks.GATE_OPENINGS, parse_openings, (), openings)
        winner = "{cluster, replicaUID, quotaReservedAtUnixNano}"
        self.winner = self._read(marks.WINNER, parse_winner, None, winner)
        self.round_started_ns = self._read(marks.ROUND_STARTED, _started, None, "a whole number of nanoseconds")
        self.forecast = self._read(marks.FORECAST, _forecast, None, "the record of a forecast")
        counts = "{worker: {count, replicaUID}}"
        self.out_of_sync: dict[str, OutOfSync] = self._read(marks.OUT_OF_SYNC, _out_of_sync, {}, counts)

    def _read(self, name: str, parse: Callable[[str | None], Value], otherwise: Value, expected: str) -> Value:
        """Return what an annotation holds, and `otherwise` for one that cannot be read."""
        text = self._annotations.get(name)
        try:
            return parse(text)
        except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError):
            self.problems[name] = f"annotation {name} is {cut(str(text), _SHOWN)!r}: expected {expected}"
            return otherwise


def _forecast(text: str | None) -> ForecastRecord | None:
    record = parse_record(text)
    if record is not None:
        _count(record.opened_ns)
    return record


def _started(text: str | None) -> int | None:
    return None if text is None else _count(text)


def _out_of_sync(text: str | None) -> dict[str, OutOfSync]:
    if not text:
        return {}
    found = json.loads(text).items()
    return {str(name): OutOfSync(_count(entry["count"]), ReplicaUID(str(entry["replicaUID"]))) for name, entry in found}


def _count(value: Any) -> int:
    number = int(value)
    if not 0 <= number < 1 << 63:
        raise ValueError(f"{number} is out of range")
    return number
