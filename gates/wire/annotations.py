"""How the records of gate openings and of the winner are written in annotations of the hub Workload."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from config.api.identifiers import ReplicaUID, WorkerName
from gates.model import marks
from gates.model.openings import Opening, Steady, Winner
from gates.model.settings import TIME_LIMIT_NS

MOST_OPENINGS: Final = 256
"""How many openings a record may hold; there is one for each cluster at most, and more are not ours."""


class LedgerError(ValueError):
    """The annotation does not hold what Turnstile writes there."""


def parse_openings(text: str | None) -> tuple[Opening, ...]:
    """Read the annotation; a missing one is an empty ledger. Records of earlier versions say less."""
    if not text:
        return ()
    try:
        entries = json.loads(text)
        if len(entries) > MOST_OPENINGS:
            raise ValueError(f"it has {len(entries)} entries, more than the {MOST_OPENINGS} that Turnstile keeps")
        return tuple(_opening(entry) for entry in entries)
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        message = (
            f"annotation {marks.GATE_OPENINGS}: expected a list of {{cluster, replicaUID, openedAtUnixNano}}: {error}"
        )
        raise LedgerError(message) from error


def _opening(entry: Mapping[str, Any]) -> Opening:
    return Opening(
        WorkerName(str(entry["cluster"])),
        ReplicaUID(str(entry["replicaUID"])),
        _moment(entry["openedAtUnixNano"]),
        attempt=str(entry.get("attempt") or ""),
        steady=_reading(entry.get("steady")),
        took_effect=entry.get("tookEffect") is True,
        nudges=_moment(entry.get("nudges") or 0),
        nudged=_reading(entry.get("nudged")),
        entry_ns=_moment(entry.get("entryUnixNano") or 0),
        by_others=_moment(entry.get("byOthers") or 0),
        turn=_reading(entry.get("turn")),
        based_on=str(entry.get("basedOn") or ""),
        sent_within_ns=_moment(entry.get("sentWithinNanoseconds") or 0),
        until_shown=entry.get("untilShown") is True,
    )


def _reading(entry: Mapping[str, Any] | None) -> Steady | None:
    return None if entry is None else Steady(str(entry["clock"]), _moment(entry["nanoseconds"]))


def _moment(value: Any) -> int:
    number = int(value)
    if not 0 <= number < TIME_LIMIT_NS:
        raise ValueError(f"{number} is not a valid time")
    return number


def format_openings(openings: Iterable[Opening]) -> str:
    """Write the annotation."""
    return json.dumps([_entry(opening) for opening in openings], separators=(",", ":"))


def _entry(opening: Opening) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "cluster": opening.cluster,
        "replicaUID": opening.replica_uid,
        "openedAtUnixNano": str(opening.opened_ns),
    }
    if opening.attempt:
        entry["attempt"] = opening.attempt
    for name, reading in (("steady", opening.steady), ("nudged", opening.nudged), ("turn", opening.turn)):
        if reading is not None:
            entry[name] = {"clock": reading.clock, "nanoseconds": str(reading.at_ns)}
    if opening.based_on:
        entry["basedOn"] = opening.based_on
    for name, is_so in (("tookEffect", opening.took_effect), ("untilShown", opening.until_shown)):
        if is_so:
            entry[name] = True
    for name, number in (("entryUnixNano", opening.entry_ns), ("sentWithinNanoseconds", opening.sent_within_ns)):
        if number:
            entry[name] = str(number)
    counts = {"nudges": opening.nudges, "byOthers": opening.by_others}
    return entry | {name: count for name, count in counts.items() if count}


def parse_winner(text: str | None) -> Winner | None:
    """Read the annotation; raises ValueError for what we do not write there."""
    if not text:
        return None
    try:
        entry = json.loads(text)
        return Winner(
            WorkerName(str(entry["cluster"])),
            ReplicaUID(str(entry["replicaUID"])),
            int(entry["quotaReservedAtUnixNano"]),
        )
    except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError):
        message = f"the record of the winner is {text!r}: expected {{cluster, replicaUID, quotaReservedAtUnixNano}}"
        raise ValueError(message) from None


def format_winner(winner: Winner) -> str:
    """Write the annotation."""
    entry = {
        "cluster": winner.cluster,
        "replicaUID": winner.replica_uid,
        "quotaReservedAtUnixNano": str(winner.attempt_ns),
    }
    return json.dumps(entry, separators=(",", ":"))
