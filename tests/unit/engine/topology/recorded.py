"""Scenarios with topologies and what real Kueue v0.19.2 answers to them, as files in tests/data."""

import gzip
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from manager.cli.predict.scenarios import answer

_DATA = Path(__file__).parents[3] / "data"
_COMPARED = ("mode", "borrowing", "fits", "message", "podSetModes", "pendingFlavors", "delayedTopology", "counts")

Scenario = dict[str, Any]


@cache
def scenarios() -> dict[str, Scenario]:
    """Return the hand-written scenarios by name; a name begins with the number of docs/scenarios.md."""
    return {each["name"]: each for each in _read("topology-scenarios.jsonl.gz")}


@cache
def random_scenarios() -> list[Scenario]:
    """Return the scenarios that were made at random."""
    return list(_read("topology-nominations.jsonl.gz"))


def disagreements(scenario: Scenario) -> list[str]:
    """Return where the engine's answer differs from the recorded one, the texts included."""
    want, got = scenario["expect"], answer({key: value for key, value in scenario.items() if key != "expect"})["expect"]
    skipped = want.get("unstable") or ()  # Kueue's text differs from run to run: which member of a group is named
    found = [
        f"{field}: {got.get(field)!r} instead of {want.get(field)!r}"
        for field in _COMPARED
        if field not in skipped and (want.get(field) or None) != (got.get(field) or None)
    ]
    for field, read in (("flavors", _flavors), ("targets", _targets), ("topology", _places)):
        if read(want) != read(got):
            found.append(f"{field}: {read(got)} instead of {read(want)}")
    return found


def _read(name: str) -> Iterator[Scenario]:
    with gzip.open(_DATA / name, "rt") as lines:
        yield from map(json.loads, lines)


def _flavors(expect: Scenario) -> Any:
    return {name: dict(flavors) for name, flavors in (expect.get("flavors") or {}).items()}


def _targets(expect: Scenario) -> Any:
    return sorted((each["namespace"], each["name"], each["reason"]) for each in expect.get("targets") or ())


def _places(expect: Scenario) -> Any:
    return {
        name: (placed["levels"], [(tuple(each["values"]), each["count"]) for each in placed["domains"]])
        for name, placed in (expect.get("topology") or {}).items()
    }
