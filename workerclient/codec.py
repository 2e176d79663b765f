"""JSON in and out; the only place where a server's bytes become objects.

Whatever a server may send — HTML, half a document, a list where an object belongs, another kind — ends as one
`ProtocolViolation` that names the cluster and says what was expected, never as a wrong object or a traceback.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from workerclient.errors import Operation, ProtocolViolation, Status, printable
from workerclient.kind import ApiKind, Key

Raw = dict[str, Any]
"""A Kubernetes object as decoded JSON."""

JSON: Final = "application/json"
MERGE_PATCH: Final = "application/merge-patch+json"
JSON_PATCH: Final = "application/json-patch+json"

_SAMPLE: Final = 120


@dataclass(frozen=True, slots=True)
class Page:
    """One chunk of a list."""

    items: Sequence[tuple["Identity", Raw]]
    resource_version: str
    next_token: str


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """One line of a watch; `object` is a whole object, a bookmark or a Status, depending on the type."""

    type: str
    object: Raw


def encode(document: Mapping[str, Any] | Sequence[Any]) -> bytes:
    """Return the JSON of an object or of a list of patch operations."""
    return orjson.dumps(document)


def decode_object(operation: Operation, body: bytes, kind: ApiKind) -> Raw:
    """Return the object of that kind which the body holds."""
    document = _mapping(operation, body, f"one {kind.kind}")
    check_kind(operation, document, kind)
    identity_of(operation, document)
    return document


def check_kind(operation: Operation, document: Raw, kind: ApiKind) -> None:
    """Raise if the object is of another kind or version."""
    if document.get("kind") != kind.kind or document.get("apiVersion") != kind.api_version:
        raise ProtocolViolation(operation, f"expected one {kind.api_version} {kind.kind}, got {_called(document)}")


def decode_deletion(operation: Operation, body: bytes) -> Raw | None:
    """Return the object that a delete left behind (it waits for finalizers or a grace period), None when it is gone."""
    document = _mapping(operation, body, "a Status or the deleted object")
    if document.get("kind") == "Status":
        return None
    metadata = document.get("metadata")
    if not isinstance(metadata, dict):
        raise ProtocolViolation(operation, f"expected a Status or the deleted object, got {_called(document)}")
    waits = metadata.get("finalizers") or metadata.get("deletionGracePeriodSeconds")
    return document if waits else None


def decode_any_object(operation: Operation, body: bytes, expected: str) -> Raw:
    """Return the JSON object which the body holds, whatever its kind."""
    return _mapping(operation, body, expected)


def decode_page(operation: Operation, body: bytes, kind: ApiKind) -> Page:
    """Return the chunk of a list which the body holds."""
    document = _mapping(operation, body, f"a {kind.kind}List")
    if document.get("kind") != f"{kind.kind}List" or document.get("apiVersion") != kind.api_version:
        raise ProtocolViolation(operation, f"expected a {kind.api_version} {kind.kind}List, got {_called(document)}")
    metadata = document.get("metadata")
    items = document.get("items")
    if items is None:
        items = []
    if not isinstance(metadata, dict) or not isinstance(items, list):
        raise ProtocolViolation(operation, f"expected a {kind.kind}List with metadata and items")
    version = metadata.get("resourceVersion")
    token = metadata.get("continue") or ""
    if not isinstance(version, str) or not version or not isinstance(token, str):
        raise ProtocolViolation(operation, f"expected a {kind.kind}List with a resourceVersion, got {version!r}")
    return Page([(_listed_identity(operation, kind, item), item) for item in items], version, token)


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


def bookmark_version(operation: Operation, document: Raw) -> str:
    """Return up to which version a bookmark says that everything was told."""
    metadata = document.get("metadata")
    if not isinstance(metadata, dict):
        raise ProtocolViolation(operation, "expected a bookmark with metadata")
    return _required(operation, metadata, "resourceVersion")


def decode_status(body: bytes) -> Status | None:
    """Return the Status which an error's body holds, or None when it holds something else."""
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    return status_of(document) if isinstance(document, dict) else None


def status_of(document: Raw) -> Status | None:
    """Return the Status that a decoded object is, or None when it is another object."""
    if document.get("kind") != "Status":
        return None
    details = document.get("details")
    if not isinstance(details, dict):
        details = {}
    seconds = details.get("retryAfterSeconds")
    return Status(
        message=_text(document.get("message")),
        reason=_text(document.get("reason")),
        kind=_text(details.get("kind")),
        name=_text(details.get("name")),
        retry_after=float(seconds) if isinstance(seconds, int) and seconds > 0 else None,
        fields=frozenset(_cause_fields(details.get("causes"))),
    )


def _cause_fields(causes: object) -> Iterator[str]:
    for cause in causes if isinstance(causes, list) else ():
        if isinstance(cause, dict) and isinstance(cause.get("field"), str):
            yield cause["field"]


def status_code_of(document: Raw) -> int:
    """Return the HTTP code that a Status carries, or 500 when it carries none."""
    code = document.get("code")
    return code if isinstance(code, int) else 500


@dataclass(frozen=True, slots=True)
class Identity:
    """Which object, which incarnation of it, which version of that."""

    key: Key
    uid: str
    resource_version: str


def identity_of(operation: Operation, document: Raw) -> Identity:
    """Return who an object is; an object that does not say so is a violation of the protocol."""
    metadata = document.get("metadata")
    if not isinstance(metadata, dict):
        raise ProtocolViolation(operation, f"expected an object with metadata, got {_called(document)}")
    namespace = metadata.get("namespace", "")
    if not isinstance(namespace, str):
        raise ProtocolViolation(operation, f"expected metadata.namespace to be a text, got {_called(namespace)}")
    key = Key(namespace, _required(operation, metadata, "name"))
    return Identity(key, _required(operation, metadata, "uid"), _required(operation, metadata, "resourceVersion"))


def sample(body: bytes) -> str:
    """Return the beginning of a body in quotes, fit to stand in a message."""
    text = body[: _SAMPLE * 2].decode("utf-8", errors="replace")
    return f'"{printable(text.strip(), _SAMPLE)}"'


def _mapping(operation: Operation, body: bytes, expected: str) -> Raw:
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        detail = f"expected {expected} as JSON, got {len(body)} bytes that are not: {sample(body)}"
        raise ProtocolViolation(operation, detail) from error
    if not isinstance(document, dict):
        raise ProtocolViolation(operation, f"expected {expected}, got {_called(document)}")
    return document


def _required(operation: Operation, metadata: Raw, field: str) -> str:
    value = metadata.get(field)
    if isinstance(value, str) and value:
        return value
    raise ProtocolViolation(operation, f"expected metadata.{field} to be a text, got {_called(value)}")


def _called(value: object) -> str:
    """Return what to call something unexpected."""
    if isinstance(value, dict):
        kind, version = value.get("kind"), value.get("apiVersion")
        if isinstance(kind, str) and isinstance(version, str):
            return printable(f"{version} {kind}", _SAMPLE)
        return "an object without kind and apiVersion"
    names: Mapping[type, str] = {list: "a list", str: "a text", bool: "a boolean", type(None): "nothing"}
    return names.get(type(value), "a number")


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
