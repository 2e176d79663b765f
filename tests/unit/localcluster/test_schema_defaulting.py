"""Defaults appear where the parent exists, and a defaulted parent gets its own defaults."""

from typing import Any

import pytest

from localcluster.kinds.schema import apply_defaults
from localcluster.kinds.structural.builder import boolean, int32, list_of, map_of, obj, one_of, string

SCHEMA = obj(
    {
        "spec": obj(
            {
                "active": boolean(default=True),
                "policy": obj({"mode": one_of("A", "B", default="A"), "other": string()}, default={}),
                "limits": obj({"least": int32(default=0)}),
                "sets": list_of(obj({"name": string(default="main"), "count": int32(default=1)})),
                "byName": map_of(obj({"size": int32(default=3)})),
            }
        )
    }
)
ALWAYS = {"active": True, "policy": {"mode": "A"}}

CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "nothing is invented without the parent": ({}, {}),
    "an empty parent is filled, a defaulted object too": ({"spec": {}}, {"spec": ALWAYS}),
    "an optional object without a default stays absent": ({"spec": {**ALWAYS}}, {"spec": ALWAYS}),
    "an optional object that is there is filled": (
        {"spec": {"limits": {}}},
        {"spec": {**ALWAYS, "limits": {"least": 0}}},
    ),
    "a given value is kept, also false": (
        {"spec": {"active": False, "policy": {"mode": "B"}}},
        {"spec": {"active": False, "policy": {"mode": "B"}}},
    ),
    "an explicit null counts as absent": ({"spec": {"active": None}}, {"spec": ALWAYS}),
    "each entry of a list is filled": (
        {"spec": {"sets": [{}, {"name": "b", "count": 0}]}},
        {"spec": {**ALWAYS, "sets": [{"name": "main", "count": 1}, {"name": "b", "count": 0}]}},
    ),
    "each value of a map is filled": (
        {"spec": {"byName": {"a": {}}}},
        {"spec": {**ALWAYS, "byName": {"a": {"size": 3}}}},
    ),
    "a value of the wrong type is left for validation": (
        {"spec": {"sets": "x", "limits": 1}},
        {"spec": {**ALWAYS, "sets": "x", "limits": 1}},
    ),
}


@pytest.mark.parametrize(("given", "want"), CASES.values(), ids=CASES.keys())
def test_defaulting(given: dict[str, Any], want: dict[str, Any]) -> None:
    apply_defaults(SCHEMA, given)

    assert given == want


def test_defaults_are_not_shared_between_objects() -> None:
    first: dict[str, Any] = {"spec": {}}
    second: dict[str, Any] = {"spec": {}}
    apply_defaults(SCHEMA, first)
    first["spec"]["policy"]["mode"] = "B"

    apply_defaults(SCHEMA, second)

    assert second["spec"]["policy"]["mode"] == "A"
