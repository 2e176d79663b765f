"""One request and its answer, free of any HTTP library, and the decoding of bodies."""

import json
from dataclasses import dataclass, field
from typing import Any

import orjson
import yaml

from config.api.meta import Obj
from localcluster.kinds.api_errors import ApiError, bad_request, invalid, quoted, unsupported_media_type
from localcluster.kinds.kinds import ServedKind
from localcluster.kinds.structural import errors
from localcluster.kinds.traits import is_builtin
from localcluster.serving.options import Query
from localcluster.serving.protobuf.body import decode_protobuf
from localcluster.serving.representation import JSON, PROTOBUF, YAML
from localcluster.store.admission import FieldValidation

DECODABLE = (JSON, YAML, PROTOBUF)
_SHOWN_BODY = 30


@dataclass(frozen=True, slots=True)
class ServerRequest:
    """A request whose body has been read."""

    method: str
    path: str
    query: Query
    body: bytes = b""
    content_type: str = ""
    user_agent: str = ""
    authorization: str = ""
    accept: str = ""

    @property
    def media_type(self) -> str:
        """Return the content type without its parameters."""
        return self.content_type.partition(";")[0].strip().lower()


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer."""

    body: bytes
    status: int = 200
    content_type: str = JSON
    warnings: tuple[str, ...] = field(default=())
    retry_after: int | None = None


def reply_to(error: ApiError) -> Reply:
    """Return the answer that reports an error."""
    return Reply(error.encoded(), error.code, retry_after=error.retry_after)


def decode(body: bytes, media_type: str) -> Any:
    """Return the document in a body; raise ValueError with the parser's complaint."""
    if media_type == YAML:
        try:
            return yaml.safe_load(body)
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            reason = " ".join(str(error).split())
            raise ValueError(f"error converting YAML to JSON: yaml: {reason}") from None
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise ValueError(_json_complaint(body, error)) from None


def _json_complaint(body: bytes, error: orjson.JSONDecodeError) -> str:
    if error.pos >= len(body.rstrip()) or "unexpected end" in error.msg or "unclosed string" in error.msg:
        return "unexpected end of JSON input"
    return f"{error.msg} at line {error.lineno} column {error.colno}"


@dataclass(frozen=True, slots=True)
class Decoded:
    """An object from a body, and what the client should know about how it was read."""

    obj: Obj
    warnings: tuple[str, ...] = ()


def decode_object(kind: ServedKind, request: ServerRequest, policy: FieldValidation) -> Decoded:
    """Return the object in a body after checking that it claims to be of the kind."""
    media_type = request.media_type or JSON
    if media_type not in DECODABLE:
        raise unsupported_media_type(DECODABLE)
    if media_type == PROTOBUF:
        return Decoded(_decode_protobuf_object(kind, request.body))
    try:
        obj = decode(request.body, media_type)
    except ValueError as error:
        why = f"couldn't get version/kind; json parse error: {error}"
        raise _unrecognized(kind, why, request.body) from None
    if not isinstance(obj, dict):
        why = "couldn't get version/kind; json parse error: json: cannot unmarshal the body into a Go struct"
        raise _unrecognized(kind, why, request.body)
    check_head(kind, obj, request.body)
    if media_type != JSON or policy is FieldValidation.IGNORE:
        return Decoded(obj)
    complaints = tuple(f"duplicate field {quoted(path)}" for path in duplicate_fields(request.body, obj))
    if complaints and policy is FieldValidation.STRICT:
        why = f"strict decoding error: {', '.join(complaints)}"
        raise bad_request(f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: {why}')
    return Decoded(obj, complaints)


def duplicate_fields(body: bytes, obj: Obj) -> list[str]:
    """Return the paths of fields that a JSON body gives more than once; all but the last were lost in decoding.

    A compact body is as long as what it decodes to, and most clients send compact bodies: only others are read again.
    """
    if len(orjson.dumps(obj)) == len(body):
        return []
    found: list[str] = []
    _walk_pairs(json.loads(body, object_pairs_hook=_Pairs), "", found)
    return found


class _Pairs(list[tuple[str, Any]]):
    """The members of a JSON object in the order given, duplicates included."""


def _walk_pairs(node: Any, path: str, found: list[str]) -> None:
    if isinstance(node, _Pairs):
        seen: set[str] = set()
        for key, value in node:
            below = f"{path}.{key}" if path else key
            if key in seen:
                found.append(below)
            seen.add(key)
            _walk_pairs(value, below, found)
    elif isinstance(node, list):
        for index, value in enumerate(node):
            _walk_pairs(value, f"{path}[{index}]", found)


def _decode_protobuf_object(kind: ServedKind, body: bytes) -> Obj:
    if not is_builtin(kind):
        raise unsupported_media_type((JSON, YAML))
    obj = decode_protobuf(body, kind.api_version, kind.kind)
    check_head(kind, obj, body)
    return obj


def check_head(kind: ServedKind, obj: Obj, body: bytes) -> None:
    """Refuse another kind or version; built-in kinds may leave both out, custom resources may not."""
    found_kind, found_version = obj.get("kind"), obj.get("apiVersion")
    if is_builtin(kind):
        found_kind, found_version = found_kind or kind.kind, found_version or kind.api_version
        if (found_kind, found_version) != (kind.kind, kind.api_version):
            version = str(found_version).rpartition("/")[2]
            raise bad_request(
                f'{found_kind} in version "{version}" cannot be handled as a {kind.kind}: '
                f'no kind "{found_kind}" is registered for version "{found_version}"'
            )
        return
    if not found_kind:
        raise _unrecognized(kind, f"Object 'Kind' is missing in '{_shown(body, len(body))}'", body)
    if not found_version:
        raise _unrecognized(kind, f"Object 'apiVersion' is missing in '{_shown(body, len(body))}'", body)
    if found_version != kind.api_version:
        expected = f"does not match the expected API version ({kind.api_version})"
        raise bad_request(f"the API version in the data ({found_version}) {expected}")
    if found_kind != kind.kind:
        name = (obj.get("metadata") or {}).get("name", "") if isinstance(obj.get("metadata"), dict | None) else ""
        raise invalid(str(found_kind), kind.group, name, [errors.invalid("kind", found_kind, f"must be {kind.kind}")])


def _unrecognized(kind: ServedKind, why: str, body: bytes) -> ApiError:
    return bad_request(
        f"the object provided is unrecognized (must be of type {kind.kind}): {why} ({_shown(body, _SHOWN_BODY)})"
    )


def _shown(body: bytes, limit: int) -> str:
    if not body:
        return "<empty>"
    text = body[:limit].decode(errors="replace")
    return f"{text} ..." if len(body) > limit else text
