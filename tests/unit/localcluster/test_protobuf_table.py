"""The table of messages against bodies that the Go client's own serializer wrote.

Each recorded line is a kind with nothing or with everything filled in: its protobuf body and the JSON that Go makes of
the object once it has been decoded again.
"""

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from localcluster.access.reviews import REVIEWS
from localcluster.catalogue.registry import all_kinds
from localcluster.kinds.traits import is_builtin
from localcluster.serving.protobuf.body import decode_protobuf
from localcluster.serving.protobuf.messages import Messages, Shown, known_messages

RECORDED = [
    orjson.loads(line) for line in (Path(__file__).parent / "recorded/protobuf.jsonl").read_bytes().splitlines()
]
ONLY_JSON = {"scheduling.k8s.io/v1beta1/PodGroup"}
"""Newer than the Kubernetes release that the table is made from."""


def without_nulls(value: Any) -> Any:
    """Return the value without fields that are null, which mean the same as none."""
    if isinstance(value, dict):
        return {key: without_nulls(child) for key, child in value.items() if child is not None}
    return [without_nulls(child) for child in value] if isinstance(value, list) else value


def fields_in(messages: Messages, name: str, shown: Any) -> Iterator[tuple[str, str]]:
    """Return which fields of which messages appear in a JSON value."""
    message = messages.by_name.get(name)
    if message is None or message.is_list:
        return
    for field in message.fields:
        if field.shown is Shown.EMBEDDED:
            yield name, field.type
            yield from fields_in(messages, field.type, shown)
        elif field.name in shown:
            yield name, field.name
            value = shown[field.name]
            children = value if field.shown is Shown.LIST else value.values() if field.shown is Shown.MAP else [value]
            for child in children:
                yield from fields_in(messages, field.type, child)


@pytest.mark.parametrize("recorded", RECORDED, ids=lambda recorded: f"{recorded['kind']} with {recorded['filled']}")
def test_a_body_is_read_as_go_reads_it(recorded: dict[str, Any]) -> None:
    """Field by field, except that a null may be left out."""
    obj = decode_protobuf(base64.b64decode(recorded["body"]), "v1", "Other")
    assert without_nulls(obj) == without_nulls(recorded["object"])


def test_every_field_of_the_table_has_been_compared() -> None:
    """A field that no recorded body has would be an unchecked claim."""
    messages = known_messages()
    known = {
        (name, field.name or field.type)
        for name, message in messages.by_name.items()
        for field in message.fields
        if not message.is_list
    }
    seen = {
        pair
        for recorded in RECORDED
        for pair in fields_in(messages, messages.kinds[recorded["kind"]], without_nulls(recorded["object"]))
    }
    assert known - seen == set()


def test_every_builtin_kind_and_review_has_a_message() -> None:
    """After a new kind the table has to be generated again."""
    served = {f"{kind.api_version}/{kind.kind}" for kind in all_kinds() if is_builtin(kind)}
    reviews = {f"{review.api_version}/{review.kind}" for review in REVIEWS}
    others = {"v1/Binding", "DeleteOptions", "authentication.k8s.io/v1/TokenRequest"}
    assert set(known_messages().kinds) == (served | reviews | others) - ONLY_JSON


def test_no_message_contains_itself() -> None:
    """So no body, however long, nests deeper than the table."""
    messages = known_messages()

    def visit(name: str, around: tuple[str, ...]) -> None:
        assert name not in around
        for field in messages.by_name[name].fields if name in messages.by_name else ():
            visit(field.type, (*around, name))

    for name in messages.kinds.values():
        visit(name, ())
