"""Does the engine's answer agree with real Kueue's?

Where Kueue answers differently from run to run, any of its answers agrees, and so does `ambiguous`; where the engine
says `ambiguous`, what Kueue answered must be among the outcomes it lists.
"""

import difflib
import json

from tests.differential.catalogue import Json


def disagreement(real: Json, predicted: Json) -> str | None:
    """Return what differs between the two answers to one nomination, or None."""
    if "expect" not in real:
        return f"the oracle has no answer: {real.get('error')}"
    if "expect" not in predicted:
        return f"the engine has no answer: {json.dumps(predicted)}"
    possible = [normal(outcome) for outcome in outcomes(real["expect"])]
    listed = [normal(outcome) for outcome in outcomes(predicted["expect"])]
    if is_ambiguous(predicted["expect"]):
        unlisted = [outcome for outcome in possible if outcome not in listed]
        return f"not among the engine's {len(listed)} outcomes: {unlisted}" if unlisted else None
    return None if listed[0] in possible else _difference(possible[0], listed[0])


def is_ambiguous(expect: Json) -> bool:
    """Say whether the answer is a set of outcomes."""
    return "nondeterministic" in expect or "ambiguous" in expect


def outcomes(expect: Json) -> list[Json]:
    """Return every outcome that an answer allows."""
    return expect.get("nondeterministic") or expect.get("ambiguous") or [expect]


def normal(outcome: Json) -> Json:
    """Return what is compared: absent and empty are the same, targets are a set, texts are informative."""
    targets = [(target["namespace"], target["name"], target["reason"]) for target in outcome.get("targets") or []]
    return {
        "mode": outcome.get("mode"),
        "flavors": outcome.get("flavors") or {},
        "counts": outcome.get("counts") or {},
        "borrowing": outcome.get("borrowing"),
        "targets": sorted(targets),
        "topology": outcome.get("topology") or {},
    }


def _difference(real: Json, predicted: Json) -> str:
    before, after = (json.dumps(side, indent=1, sort_keys=True).splitlines() for side in (real, predicted))
    return "\n".join(difflib.unified_diff(before, after, "real Kueue", "engine", lineterm="", n=1))
