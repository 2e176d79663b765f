"""Patches as functions: merge, JSON and strategic."""

from typing import Any

import pytest

from localcluster.kinds.api_errors import ApiError
from localcluster.kinds.schema import Schema
from localcluster.store.patch import json_patch, merge_patch
from localcluster.store.strategic import strategic_merge_patch

_CONTAINERS = Schema(
    "object",
    properties={
        "containers": Schema("array", list_type="map", list_keys=("name",), items=Schema("object")),
        "finalizers": Schema("array", list_type="set", items=Schema("string")),
        "args": Schema("array", items=Schema("string")),
    },
)


@pytest.mark.parametrize(
    ("target", "patch", "want"),
    [
        pytest.param({"a": 1, "b": 2}, {"b": None}, {"a": 1}, id="null removes"),
        pytest.param({"a": {"x": 1}}, {"a": {"y": 2}}, {"a": {"x": 1, "y": 2}}, id="objects merge"),
        pytest.param({"a": [1, 2]}, {"a": [3]}, {"a": [3]}, id="lists are replaced"),
        pytest.param({"a": 1}, {"a": {"b": None, "c": 1}}, {"a": {"c": 1}}, id="nulls inside new objects vanish"),
    ],
)
def test_merge_patch(target: Any, patch: Any, want: Any) -> None:
    before = repr(target)

    assert merge_patch(target, patch) == want
    assert repr(target) == before


@pytest.mark.parametrize(
    ("operations", "want"),
    [
        pytest.param([{"op": "add", "path": "/c", "value": 3}], {"a": [1, 2], "b": {"x": 1}, "c": 3}, id="add a field"),
        pytest.param([{"op": "add", "path": "/a/1", "value": 9}], {"a": [1, 9, 2], "b": {"x": 1}}, id="insert an item"),
        pytest.param([{"op": "add", "path": "/a/-", "value": 9}], {"a": [1, 2, 9], "b": {"x": 1}}, id="append an item"),
        pytest.param([{"op": "remove", "path": "/a/0"}], {"a": [2], "b": {"x": 1}}, id="remove an item"),
        pytest.param([{"op": "replace", "path": "/b/x", "value": 2}], {"a": [1, 2], "b": {"x": 2}}, id="replace"),
        pytest.param([{"op": "move", "from": "/b/x", "path": "/y"}], {"a": [1, 2], "b": {}, "y": 1}, id="move a value"),
        pytest.param(
            [{"op": "copy", "from": "/a", "path": "/b/a"}], {"a": [1, 2], "b": {"x": 1, "a": [1, 2]}}, id="copy a value"
        ),
        pytest.param(
            [{"op": "test", "path": "/b/x", "value": 1}, {"op": "remove", "path": "/b"}],
            {"a": [1, 2]},
            id="a kept test",
        ),
        pytest.param(
            [{"op": "add", "path": "/b/m~1n~0", "value": 1}], {"a": [1, 2], "b": {"x": 1, "m/n~": 1}}, id="escapes"
        ),
    ],
)
def test_json_patch(operations: Any, want: Any) -> None:
    document = {"a": [1, 2], "b": {"x": 1}}

    assert json_patch(document, operations) == want
    assert document == {"a": [1, 2], "b": {"x": 1}}


@pytest.mark.parametrize(
    ("operations", "want_code"),
    [
        pytest.param([{"op": "test", "path": "/a", "value": 2}], 422, id="a failed test"),
        pytest.param([{"op": "remove", "path": "/zz"}], 422, id="removing nothing"),
        pytest.param([{"op": "add", "path": "/zz/y", "value": 1}], 422, id="adding below nothing"),
        pytest.param([{"op": "add", "path": "no-slash", "value": 1}], 422, id="a pointer without a slash"),
        pytest.param([{"op": "fly", "path": "/a"}], 422, id="an unknown operation"),
        pytest.param([{"op": "add", "path": "/a"}], 422, id="no value"),
        pytest.param({"op": "add"}, 400, id="not a list"),
        pytest.param(["add"], 400, id="not operations"),
    ],
)
def test_a_json_patch_that_cannot_be_carried_out_is_refused(operations: Any, want_code: int) -> None:
    with pytest.raises(ApiError) as refused:
        json_patch({"a": 1}, operations)
    assert refused.value.code == want_code


@pytest.mark.parametrize(
    ("target", "patch", "want"),
    [
        pytest.param(
            {"containers": [{"name": "a", "image": "1"}, {"name": "b"}]},
            {"containers": [{"name": "a", "image": "2"}, {"name": "c"}]},
            {"containers": [{"name": "a", "image": "2"}, {"name": "b"}, {"name": "c"}]},
            id="items merge by key",
        ),
        pytest.param(
            {"containers": [{"name": "a"}, {"name": "b"}]},
            {"containers": [{"name": "a", "$patch": "delete"}]},
            {"containers": [{"name": "b"}]},
            id="an item is deleted",
        ),
        pytest.param(
            {"containers": [{"name": "a"}]},
            {"containers": [{"name": "b"}, {"$patch": "replace"}]},
            {"containers": [{"name": "b"}]},
            id="the list is replaced",
        ),
        pytest.param(
            {"containers": [{"name": "a"}, {"name": "b"}]},
            {"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}]},
            {"containers": [{"name": "b"}, {"name": "a"}]},
            id="the order is set",
        ),
        pytest.param({"finalizers": ["a"]}, {"finalizers": ["b"]}, {"finalizers": ["a", "b"]}, id="sets grow"),
        pytest.param(
            {"finalizers": ["a", "b"]},
            {"$deleteFromPrimitiveList/finalizers": ["a"]},
            {"finalizers": ["b"]},
            id="members of a set are deleted",
        ),
        pytest.param({"args": ["a"]}, {"args": ["b"]}, {"args": ["b"]}, id="atomic lists are replaced"),
        pytest.param(
            {"m": {"a": 1, "b": 2}}, {"m": {"$retainKeys": ["b"], "b": 3}}, {"m": {"b": 3}}, id="retained keys"
        ),
        pytest.param(
            {"m": {"a": 1}}, {"m": {"$patch": "replace", "b": 2}}, {"m": {"b": 2}}, id="an object is replaced"
        ),
        pytest.param({"m": {"a": 1}, "n": 1}, {"m": {"$patch": "delete"}}, {"n": 1}, id="an object is deleted"),
        pytest.param({"m": 1, "n": 1}, {"m": None}, {"n": 1}, id="null removes"),
    ],
)
def test_strategic_merge_patch(target: Any, patch: Any, want: Any) -> None:
    assert strategic_merge_patch(_CONTAINERS, target, patch) == want


def test_an_item_without_its_merge_key_is_refused() -> None:
    with pytest.raises(ApiError, match="does not contain declared merge key: name"):
        strategic_merge_patch(_CONTAINERS, {}, {"containers": [{"image": "x"}]})
