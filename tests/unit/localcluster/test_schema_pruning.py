"""Unknown fields go and are named; nulls go unnamed; what a schema preserves stays."""

from typing import Any

import pytest

from localcluster.kinds.schema import Schema, prune
from localcluster.kinds.structural.builder import anything, int32, list_of, map_of, obj, preserved, string

SCHEMA = obj(
    {
        "spec": obj(
            {
                "name": string(),
                "limits": obj({"least": int32()}),
                "entries": list_of(obj({"name": string()}), keys=("name",)),
                "byName": map_of(obj({"size": int32()})),
                "free": preserved(),
                "raw": anything(),
                "partly": obj({"known": obj({"a": string()})}, open_ended=True),
                "nothing": Schema("string", nullable=True),
            }
        )
    }
)

CASES: dict[str, tuple[dict[str, Any], dict[str, Any], list[str]]] = {
    "known fields stay": ({"spec": {"name": "a"}}, {"spec": {"name": "a"}}, []),
    "an unknown field at the top goes": ({"extra": 1}, {}, ["extra"]),
    "type and metadata of the object stay": (
        {"apiVersion": "v1", "kind": "K", "metadata": {"name": "a"}},
        {"apiVersion": "v1", "kind": "K", "metadata": {"name": "a"}},
        [],
    ),
    "an unknown nested field is named by its path": (
        {"spec": {"limits": {"least": 1, "most": 2}}},
        {"spec": {"limits": {"least": 1}}},
        ["spec.limits.most"],
    ),
    "an unknown field in a list is named by its index": (
        {"spec": {"entries": [{"name": "a"}, {"name": "b", "x": 1}]}},
        {"spec": {"entries": [{"name": "a"}, {"name": "b"}]}},
        ["spec.entries[1].x"],
    ),
    "map keys are free, their values are not": (
        {"spec": {"byName": {"one": {"size": 1, "colour": "red"}}}},
        {"spec": {"byName": {"one": {"size": 1}}}},
        ["spec.byName.one.colour"],
    ),
    "a preserved object keeps everything": (
        {"spec": {"free": {"a": {"b": [1, None]}}, "raw": [{"x": None}]}},
        {"spec": {"free": {"a": {"b": [1, None]}}, "raw": [{"x": None}]}},
        [],
    ),
    "an open-ended object keeps unknown fields but prunes below known ones": (
        {"spec": {"partly": {"other": 1, "known": {"a": "x", "b": "y"}}}},
        {"spec": {"partly": {"other": 1, "known": {"a": "x"}}}},
        ["spec.partly.known.b"],
    ),
    "a null field was never set": ({"spec": {"name": None, "byName": {"a": None}}}, {"spec": {"byName": {}}}, []),
    "a nullable field keeps its null": ({"spec": {"nothing": None}}, {"spec": {"nothing": None}}, []),
    "a value of the wrong type is left for validation": ({"spec": {"limits": "x"}}, {"spec": {"limits": "x"}}, []),
}


@pytest.mark.parametrize(("given", "want", "want_dropped"), CASES.values(), ids=CASES.keys())
def test_pruning(given: dict[str, Any], want: dict[str, Any], want_dropped: list[str]) -> None:
    dropped = prune(SCHEMA, given)

    assert given == want
    assert dropped == want_dropped
