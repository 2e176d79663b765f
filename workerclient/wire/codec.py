"""JSON in and out; the only place where a server's bytes become objects.

Whatever a server may send — HTML, half a document, a list instead of an object, another kind — ends as one
`ProtocolViolation` that names the cluster and says what was expected, never as a wrong object or a traceback.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from config.api.meta import Obj, ObjectKey
from workerclient.base.errors import Operation, ProtocolViolation, Status, TooLarge, excerpt
from workerclient.base.kind import ApiKind

JSON: Final = "application/json"
PLAIN_TEXT: Final = "text/plain"
MERGE_PATCH: Final = "application/merge-patch+json"
JSON_PATCH: Final = "application/json-patch+json"

_SAMPLE: Final = 120
_LONGEST_TEXT: Final = 1024
"""Of a name, a UID or a resourceVersion: several times what Kubernetes allows."""
_MOST_VALUES: Final = 300_000
"""In one answer: JSON is decoded in one piece, and that takes time for each value, however few bytes they have."""
_BYTES_PER_VALUE: Final = 32
"""What an empty list takes; a short string or a map takes up to three times as much."""
_LONGEST_TOKEN: Final = 16 << 10
"""Of the token by which a list is continued; it becomes part of a URL."""


@dataclass(frozen=True, slots=True)
class ListChunk:
    """One chunk of a list."""

    items: Sequence[tuple["Identity", Obj]]
    resource_version: str
    next_token: str
    size: int
    """How many bytes it came in."""
    weight: int
    """What it counts for in memory."""


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """One line of a watch; `object` is a whole object, a bookmark or a Status, depending on the type."""

    type: str
    object: Obj


def encode(document: Mapping[str, Any] | Sequence[Any]) -> bytes:
    """Return the JSON of an object or of a list of patch operations."""
    return orjson.dumps(document)


def decode_object(operation: Operation, body: bytes, kind: ApiKind) -> Obj:
    """Return the object of that kind which the body holds."""
    document = _mapping(operation, body, f"one {kind.kind}")
    check_kind(operation, document, kind)
    identity_of(operation, document)
    return document


def check_kind(operation: Operation, document: Obj, kind: ApiKind) -> None:
    """Raise if the object is of another kind or version."""
    if document.get("kind") != kind.kind or document.get("apiVersion") != kind.api_version:
        raise ProtocolViolation(operation, f"expected one {kind.api_version} {kind.kind}, got {_called(document)}")


def decode_deletion(operation: Operation, body: bytes) -> Obj | None:
    """Return the object that a delete left behind (it waits for finalizers or a grace period), None when it is gone."""
    document = _mapping(operation, body, "a Status or the deleted object")
    if document.get("kind") == "Status":
        return None
    metadata = document.get("metadata")
    if not isinstance(metadata, dict):
        raise ProtocolViolation(operation, f"expected a Status or the deleted object, got {_called(document)}")
    waits = metadata.get("finalizers") or metadata.get("deletionGracePeriodSeconds")
    return document if waits else None


def decode_any_object(operation: Operation, body: bytes, expected: str) -> Obj:
    """Return the JSON object which the body holds, whatever its kind."""
    return _mapping(operation, body, expected)


def decode_page(operation: Operation, body: bytes, kind: ApiKind, most: int) -> ListChunk:
    """Return the chunk of a list which the body holds; if it has more items than were asked for, none is used."""
    document = _mapping(operation, body, f"a {kind.kind}List")
    if document.get("kind") != f"{kind.kind}List" or document.get("apiVersion") != kind.api_version:
        raise ProtocolViolation(operation, f"expected a {kind.api_version} {kind.kind}List, got {_called(document)}")
    metadata = document.get("metadata")
    items = document.get("items")
    if items is None:
        items = []
    if not isinstance(metadata, dict) or not isinstance(items, list):
        raise ProtocolViolation(operation, f"expected a {kind.kind}List with metadata and items")
    if len(items) > most:
        raise ProtocolViolation(operation, f"expected at most {most} items in a page of the list, got {len(items)}")
    version = _required(operation, metadata, "resourceVersion")
    token = metadata.get("continue") or ""
    if not isinstance(token, str) or len(token) > _LONGEST_TOKEN:
        raise ProtocolViolation(operation, f"expected metadata.continue to be a string, got {_called(token)}")
    return ListChunk(
        [(_listed_identity(operation, kind, item), item) for item in items], version, token, len(body), weight_of(body)
    )


def _listed_identity(operation: Operation, kind: ApiKind, item: object) -> "Identity":
    if not isinstance(item, dict):
        raise ProtocolViolation(operation, f"expected {kind.kind} objects in the list, got {_called(item)}")
    return identity_of(operation, item)


def decode_event(operation: Operation, line: bytes) -> WatchEvent:
    """Return the watch event of one line."""
    document = _mapping(operation, line, "a watch event")
    kind, payload = document.get("type"), document.get("object")
    if not isinstance(kind, str) or not isinstance(payload, dict):
        raise ProtocolViolation(operation, f"expected a watch event with type and object, got {_called(document)}")
    return WatchEvent(kind, payload)


def bookmark_version(operation: Operation, document: Obj) -> str:
    """Return up to which version a bookmark says that everything was sent."""
    metadata = document.get("metadata")
    if not isinstance(metadata, dict):
        raise ProtocolViolation(operation, "expected a bookmark with metadata")
    return _required(operation, metadata, "resourceVersion")


def decode_status(body: bytes) -> Status | None:
    """Return the Status which an error's body holds, or None when it holds something else."""
    if _has_too_many_values(body):
        return None
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    return status_of(document) if isinstance(document, dict) else None


def status_of(document: Obj) -> Status | None:
    """Return the Status that a decoded object is, or None when it is another object."""
    if document.get("kind") != "Status":
        return None
    details = document.get("details")
    if not isinstance(details, dict):
        details = {}
    seconds = details.get("retryAfterSeconds")
    return Status(
        message=_text(document.get("message")),
        reason=_text(document.get("reason"))[:_LONGEST_TEXT],
        kind=_text(details.get("kind"))[:_LONGEST_TEXT],
        name=_text(details.get("name"))[:_LONGEST_TEXT],
        retry_after=float(seconds) if isinstance(seconds, int) and seconds > 0 else None,
        fields=frozenset(_cause_fields(details.get("causes"))),
    )


def _cause_fields(causes: object) -> Iterator[str]:
    for cause in causes if isinstance(causes, list) else ():
        if isinstance(cause, dict) and isinstance(cause.get("field"), str):
            yield cause["field"]


def status_code_of(document: Obj) -> int:
    """Return the HTTP code that a Status carries, or 500 when it carries none."""
    code = document.get("code")
    return code if isinstance(code, int) else 500


@dataclass(frozen=True, slots=True)
class Identity:
    """Which object, which incarnation of it, which version of that."""

    key: ObjectKey
    uid: str
    resource_version: str


def identity_of(operation: Operation, document: Obj) -> Identity:
    """Return who an object is; an object that does not say so is a violation of the protocol."""
    metadata = document.get("metadata")
    if not isinstance(metadata, dict):
        raise ProtocolViolation(operation, f"expected an object with metadata, got {_called(document)}")
    namespace = metadata.get("namespace", "")
    if not isinstance(namespace, str) or len(namespace) > _LONGEST_TEXT:
        raise ProtocolViolation(operation, f"expected metadata.namespace to be a string, got {_called(namespace)}")
    key = ObjectKey(namespace, _required(operation, metadata, "name"))
    return Identity(key, _required(operation, metadata, "uid"), _required(operation, metadata, "resourceVersion"))


def texts_of(entries: Sequence[object], field: str) -> Iterator[str]:
    """Yield the strings that objects of a list have in a field."""
    for entry in entries:
        value = entry.get(field) if isinstance(entry, dict) else None
        if isinstance(value, str):
            yield value


def sample(body: bytes) -> str:
    """Return the beginning of a body in quotes, suitable for a message."""
    text = body[: _SAMPLE * 2].decode("utf-8", errors="replace")
    return f'"{excerpt(text.strip(), _SAMPLE)}"'


def weight_of(body: bytes) -> int:
    """Return what JSON counts for once it is decoded: many small values take far more memory than their bytes."""
    return max(len(body), _BYTES_PER_VALUE * values_in(body))


def values_in(body: bytes) -> int:
    """Return how many values JSON holds at most: what looks like one within a string is counted too."""
    return body.count(b",") + body.count(b"{") + body.count(b"[")


def _has_too_many_values(body: bytes) -> bool:
    return len(body) > _MOST_VALUES and values_in(body) > _MOST_VALUES


def _mapping(operation: Operation, body: bytes, expected: str) -> Obj:
    if _has_too_many_values(body):
        raise TooLarge(operation, f"the answer holds more than {_MOST_VALUES} values")
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        detail = f"expected {expected} as JSON, got {len(body)} bytes that are not: {sample(body)}"
        raise ProtocolViolation(operation, detail) from error
    if not isinstance(document, dict):
        raise ProtocolViolation(operation, f"expected {expected}, got {_called(document)}")
    return document


def _required(operation: Operation, metadata: Obj, field: str) -> str:
    value = metadata.get(field)
    if isinstance(value, str) and 0 < len(value) <= _LONGEST_TEXT:
        return value
    raise ProtocolViolation(operation, f"expected metadata.{field} to be a string, got {_called(value)}")


def _called(value: object) -> str:
    """Return what to call something unexpected."""
    if isinstance(value, dict):
        kind, version = value.get("kind"), value.get("apiVersion")
        if isinstance(kind, str) and isinstance(version, str):
            return excerpt(f"{version} {kind}", _SAMPLE)
        return "an object without kind and apiVersion"
    if isinstance(value, str):
        return f"a string of {len(value)} characters"
    names: Mapping[type, str] = {list: "a list", bool: "a boolean", type(None): "nothing"}
    return names.get(type(value), "a number")


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
