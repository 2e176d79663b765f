"""Each limit of a schema is reported with its reason, its field and the API server's sentence."""

from typing import Any

import pytest

from localcluster.kinds.schema import Cause, Schema, SchemaError, SchemaRule, to_openapi, validate
from localcluster.kinds.structural.builder import (
    DNS_LABEL,
    int32,
    int64,
    int_or_string,
    list_of,
    map_of,
    obj,
    one_of,
    quantity,
    string,
    timestamp,
)
from localcluster.kinds.structural.validation import RULES_NOT_CHECKED

FIELDS = obj(
    {
        "name": string(pattern=DNS_LABEL, least=2, most=5),
        "anyCase": string(pattern=r"^(?i)[a-z]+$"),
        "policy": one_of("Never", "Always"),
        "at": timestamp(),
        "count": int32(least=1, most=9),
        "big": int64(),
        "ratio": Schema("number"),
        "on": Schema("boolean"),
        "amount": quantity(),
        "share": int_or_string(),
        "tags": list_of(string(), unique=True, least=1, most=3),
        "sets": list_of(obj({"name": string(), "size": int32()}, required=("name",)), keys=("name",)),
        "pairs": list_of(obj({"a": string(), "b": string()}), keys=("a", "b")),
        "labels": map_of(string(most=3), most=2),
        "maybe": Schema("string", nullable=True),
    },
    required=("name",),
)
SCHEMA = obj({"spec": FIELDS})


def error(cause: Cause, field: str, message: str) -> SchemaError:
    return SchemaError(cause, f"spec.{field}", message)


def in_body(field: str, given: str, sentence: str) -> str:
    return f"Invalid value: {given}: spec.{field} in body {sentence}"


CASES: dict[str, tuple[dict[str, Any], list[SchemaError]]] = {
    "everything within its limits": (
        {
            "anyCase": "AbC",
            "policy": "Never",
            "at": "2026-01-02T03:04:05.678901Z",
            "count": 9,
            "big": 2**40,
            "ratio": 1.5,
            "on": False,
            "amount": "1.5Gi",
            "share": "50%",
            "tags": ["a"],
            "sets": [{"name": "a"}, {"name": "b"}],
            "pairs": [{"a": "1", "b": "1"}, {"a": "1", "b": "2"}],
            "labels": {"x": "abc"},
            "maybe": None,
        },
        [],
    ),
    "a whole number written as a fraction is a whole number": ({"count": 2.0, "amount": 3, "share": 4}, []),
    "a string that breaks its pattern": (
        {"name": "A_b"},
        [error(Cause.INVALID, "name", in_body("name", '"A_b"', f"should match '{DNS_LABEL}'"))],
    ),
    "a pattern looks at the very end": (
        {"name": "ab\n"},
        [error(Cause.INVALID, "name", in_body("name", '"ab\\n"', f"should match '{DNS_LABEL}'"))],
    ),
    "a string that is too long is not repeated": (
        {"name": "abcdef"},
        [error(Cause.TOO_LONG, "name", "Too long: may not be more than 5 bytes")],
    ),
    "a string that is too short": (
        {"name": "a"},
        [error(Cause.INVALID, "name", in_body("name", '"a"', "should be at least 2 chars long"))],
    ),
    "a value outside its closed set": (
        {"policy": "x"},
        [error(Cause.NOT_SUPPORTED, "policy", 'Unsupported value: "x": supported values: "Never", "Always"')],
    ),
    "a malformed time": (
        {"at": "yesterday"},
        [error(Cause.TYPE_INVALID, "at", in_body("at", '"yesterday"', 'must be of type date-time: "yesterday"'))],
    ),
    "a number below its minimum": (
        {"count": 0},
        [error(Cause.INVALID, "count", in_body("count", "0", "should be greater than or equal to 1"))],
    ),
    "a number above its maximum": (
        {"count": 10},
        [error(Cause.INVALID, "count", in_body("count", "10", "should be less than or equal to 9"))],
    ),
    "text for a number": (
        {"big": "x"},
        [error(Cause.TYPE_INVALID, "big", in_body("big", '"string"', 'must be of type integer: "string"'))],
    ),
    "a truth value for a formatted number": (
        {"big": True},
        [error(Cause.TYPE_INVALID, "big", in_body("big", '""', 'must be of type int64: ""'))],
    ),
    "a number for a truth value": (
        {"on": 1},
        [error(Cause.TYPE_INVALID, "on", in_body("on", '"integer"', 'must be of type boolean: "integer"'))],
    ),
    "an amount without a number": (
        {"share": True},
        [
            error(
                Cause.TYPE_INVALID, "share", in_body("share", '"boolean"', 'must be of type integer,string: "boolean"')
            )
        ],
    ),
    "a list where an object belongs": (
        {"labels": []},
        [error(Cause.TYPE_INVALID, "labels", in_body("labels", '"array"', 'must be of type object: "array"'))],
    ),
    "an object where a list belongs": (
        {"tags": {}},
        [error(Cause.TYPE_INVALID, "tags", in_body("tags", '"object"', 'must be of type array: "object"'))],
    ),
    "a list with too few entries": (
        {"tags": []},
        [error(Cause.INVALID, "tags", in_body("tags", "0", "should have at least 1 items"))],
    ),
    "a list with too many entries": (
        {"tags": ["a", "b", "c", "d"]},
        [error(Cause.TOO_MANY, "tags", "Too many: 4: must have at most 3 items")],
    ),
    "a set names the second of equal entries": (
        {"tags": ["a", "b", "a"]},
        [error(Cause.DUPLICATE, "tags[2]", 'Duplicate value: "a"')],
    ),
    "a keyed list names the key that comes twice, once": (
        {"sets": [{"name": "a"}, {"name": "a"}, {"name": "a"}]},
        [error(Cause.DUPLICATE, "sets[1]", 'Duplicate value: {"name":"a"}')],
    ),
    "two keys count together": (
        {"pairs": [{"a": "1", "b": "2"}, {"a": "1", "b": "2"}]},
        [error(Cause.DUPLICATE, "pairs[1]", 'Duplicate value: {"a":"1","b":"2"}')],
    ),
    "a required field of an entry": ({"sets": [{}]}, [error(Cause.REQUIRED, "sets[0].name", "Required value")]),
    "a map with too many keys": (
        {"labels": {"a": "", "b": "", "c": ""}},
        [error(Cause.TOO_MANY, "labels", "Too many: 3: must have at most 2 items")],
    ),
    "a map with a value that is too long": (
        {"labels": {"a": "wxyz"}},
        [error(Cause.TOO_LONG, "labels.a", "Too long: may not be more than 3 bytes")],
    ),
}


@pytest.mark.parametrize(("given", "want"), CASES.values(), ids=CASES.keys())
def test_limits(given: dict[str, Any], want: list[SchemaError]) -> None:
    assert validate(SCHEMA, {"spec": {"name": "abc", **given}}) == want


def test_a_text_that_was_refused_once_is_refused_again() -> None:
    refused = [validate(SCHEMA, {"spec": {"name": "A_b"}}) for _ in range(2)]

    assert refused[0] == refused[1] != []


def test_all_errors_come_at_once() -> None:
    found = validate(SCHEMA, {"spec": {"count": 0, "policy": "x", "tags": []}})

    assert [each.field for each in found] == ["spec.count", "spec.policy", "spec.tags", "spec.name"]


def test_metadata_is_not_the_schemas_business() -> None:
    assert validate(obj({"metadata": obj({"name": string()})}), {"metadata": {"name": 1}}) == []


RULED = obj(
    {
        "spec": obj(
            {
                "name": string(
                    invariants=(
                        SchemaRule("field is immutable", lambda new, old: bool(new == old), is_transition=True),
                    )
                ),
                "least": int32(),
                "most": int32(),
                "entries": list_of(obj({"x": int32()}, invariants=(SchemaRule("needs x", lambda one, _: "x" in one),))),
            },
            invariants=(
                SchemaRule("least above most", lambda spec, _: bool(spec.get("least", 0) <= spec.get("most", 9))),
            ),
        )
    }
)
RULE_CASES: dict[str, tuple[dict[str, Any], dict[str, Any] | None, list[str]]] = {
    "rules that hold": ({"least": 1, "most": 2}, None, []),
    "a rule over an object does not show the object": (
        {"least": 3, "most": 2},
        None,
        ["spec: Invalid value: least above most"],
    ),
    "a rule in a list names the entry": (
        {"entries": [{"x": 1}, {}]},
        None,
        ["spec.entries[1]: Invalid value: needs x"],
    ),
    "a transition is not asked on create": ({"name": "a"}, None, []),
    "a transition is not asked where there was nothing": ({"name": "a"}, {}, []),
    "a transition of a string shows the text": (
        {"name": "b"},
        {"name": "a"},
        ['spec.name: Invalid value: "b": field is immutable'],
    ),
    "rules wait for well-typed fields": (
        {"least": "x", "most": 2},
        None,
        [
            'spec.least: Invalid value: "string": spec.least in body must be of type integer: "string"',
            f"<nil>: Invalid value: null: {RULES_NOT_CHECKED}",
        ],
    ),
}


@pytest.mark.parametrize(("given", "stored", "want"), RULE_CASES.values(), ids=RULE_CASES.keys())
def test_invariants(given: dict[str, Any], stored: dict[str, Any] | None, want: list[str]) -> None:
    found = validate(RULED, {"spec": given}, None if stored is None else {"spec": stored})

    assert [f"{each.field}: {each.message}" for each in found] == want


OPENAPI_CASES: dict[str, tuple[Schema, dict[str, Any]]] = {
    "a string with limits": (
        string(pattern="^a$", least=1, most=2, default="a"),
        {"type": "string", "pattern": "^a$", "minLength": 1, "maxLength": 2, "default": "a"},
    ),
    "a keyed list": (
        list_of(obj({"name": string()}, required=("name",)), keys=("name",), most=8),
        {
            "type": "array",
            "items": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "maxItems": 8,
        },
    ),
    "a set": (
        list_of(string(), unique=True),
        {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
    ),
    "an atomic object": (
        obj({}, atomic=True),
        {"type": "object", "x-kubernetes-map-type": "atomic"},
    ),
    "an open-ended map": (
        map_of(int_or_string()),
        {
            "type": "object",
            "additionalProperties": {
                "anyOf": [{"type": "integer"}, {"type": "string"}],
                "x-kubernetes-int-or-string": True,
            },
        },
    ),
    "an object that keeps unknown fields": (
        Schema("object", preserve_unknown=True),
        {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    ),
}


@pytest.mark.parametrize(("schema", "want"), OPENAPI_CASES.values(), ids=OPENAPI_CASES.keys())
def test_openapi(schema: Schema, want: dict[str, Any]) -> None:
    assert to_openapi(schema) == want
