"""Failures as the API server reports them: one exception that carries a `Status` object.

Reasons, codes and sentences are the ones clients already match on, so they stay exactly as Kubernetes words them.
"""

import json
from collections.abc import Iterable, Sequence

import orjson

from config.api.meta import Obj
from localcluster.kinds.kinds import ServedKind
from localcluster.kinds.schema import SchemaError

MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


class ApiError(Exception):
    """A request that the server refuses; `status` is the body that the client gets."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        details: Obj | None = None,
        retry_after: int | None = None,
        list_meta: Obj | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.retry_after = retry_after
        self.list_meta = list_meta or {}

    def status(self) -> Obj:
        """Return the `Status` object."""
        body: Obj = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": self.list_meta,
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            body["reason"] = self.reason
        details = dict(self.details) if self.details is not None else None
        if self.retry_after is not None:
            details = {**(details or {}), "retryAfterSeconds": self.retry_after}
        if details is not None:
            body["details"] = details
        body["code"] = self.code
        return body

    def encoded(self) -> bytes:
        """Return the `Status` object as JSON."""
        return orjson.dumps(self.status())


def quoted(value: object) -> str:
    """Return the value as Go's %q prints a string."""
    return json.dumps(value, ensure_ascii=False)


def qualified(plural: str, group: str) -> str:
    """Return `plural.group`, or the bare plural for the core group."""
    return f"{plural}.{group}" if group else plural


def resource_details(kind: ServedKind, name: str, noun: str = "") -> Obj:
    """Return `details` that name one object, by its resource unless another noun is given."""
    details: Obj = {}
    if name:
        details["name"] = name
    if kind.group:
        details["group"] = kind.group
    details["kind"] = noun or kind.plural
    return details


def not_found(kind: ServedKind, name: str) -> ApiError:
    """Refuse: there is no such object."""
    message = f"{qualified(kind.plural, kind.group)} {quoted(name)} not found"
    return ApiError(404, "NotFound", message, details=resource_details(kind, name))


def no_such_path() -> ApiError:
    """Refuse: nothing is served at this path."""
    return ApiError(404, "NotFound", "the server could not find the requested resource", details={})


def already_exists(kind: ServedKind, name: str, *, is_terminating: bool = False) -> ApiError:
    """Refuse: the name is taken, perhaps by an object that is being deleted."""
    message = (
        "object is being deleted: " if is_terminating else ""
    ) + f"{qualified(kind.plural, kind.group)} {quoted(name)} already exists"
    return ApiError(409, "AlreadyExists", message, details=resource_details(kind, name))


def conflict(kind: ServedKind, name: str, why: str, noun: str = "") -> ApiError:
    """Refuse: the caller decided on an older state. The object is named by its resource unless a noun is given."""
    noun = noun or kind.plural
    message = f"Operation cannot be fulfilled on {qualified(noun, kind.group)} {quoted(name)}: {why}"
    return ApiError(409, "Conflict", message, details=resource_details(kind, name, noun))


def forbidden(kind: ServedKind, name: str, why: str, causes: Sequence[Obj] = ()) -> ApiError:
    """Refuse: not allowed here and now."""
    noun = qualified(kind.plural, kind.group) + (f" {quoted(name)}" if name else "")
    details = resource_details(kind, name)
    if causes:
        details["causes"] = list(causes)
    return ApiError(403, "Forbidden", f"{noun} is forbidden: {why}", details=details)


def unauthorized() -> ApiError:
    """Refuse: the caller did not identify itself, or is unknown."""
    return ApiError(401, "Unauthorized", "Unauthorized")


def bad_request(message: str) -> ApiError:
    """Refuse: the request itself is invalid."""
    return ApiError(400, "BadRequest", message)


def invalid(kind: str, group: str, name: str, errors: Sequence[SchemaError]) -> ApiError:
    """Refuse: the object (or the options) breaks its schema or its rules."""
    causes = [{"reason": str(error.cause), "message": error.message, "field": error.field} for error in errors]
    details: Obj = {}
    if name:
        details["name"] = name
    if group:
        details["group"] = group
    if kind:
        details["kind"] = kind
    details["causes"] = causes
    head = f"{qualified(kind, group)} {quoted(name)} is invalid"
    return ApiError(422, "Invalid", f"{head}: {_aggregate(errors)}" if errors else head, details=details)


def _aggregate(errors: Iterable[SchemaError]) -> str:
    sentences = list(dict.fromkeys(f"{error.field}: {error.message}" for error in errors))
    return sentences[0] if len(sentences) == 1 else "[" + ", ".join(sentences) + "]"


def rejected() -> ApiError:
    """Refuse a JSON patch that cannot be carried out; the real server says no more than this either."""
    return ApiError(422, "Invalid", "the server rejected our request due to an error in our request", details={})


def expired(message: str, list_meta: Obj | None = None) -> ApiError:
    """Refuse: the history that the caller wants to read is gone; it must list again."""
    return ApiError(410, "Expired", message, list_meta=list_meta)


def too_large_version(asked: int, current: int) -> ApiError:
    """Refuse: the cluster has not seen this version yet."""
    message = f"Timeout: Too large resource version: {asked}, current: {current}"
    causes = [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]
    return ApiError(504, "Timeout", message, details={"causes": causes}, retry_after=1)


def method_not_allowed() -> ApiError:
    """Refuse: the path exists, the verb does not."""
    message = "the server does not allow this method on the requested resource"
    return ApiError(405, "MethodNotAllowed", message, details={})


def not_acceptable(offered: Iterable[str]) -> ApiError:
    """Refuse: the client wants an encoding that is not spoken here."""
    return ApiError(406, "NotAcceptable", "only the following media types are accepted: " + ", ".join(offered))


def unsupported_media_type(accepted: Iterable[str]) -> ApiError:
    """Refuse: the body came in an encoding that is not understood here."""
    message = "the body of the request was in an unknown format - accepted media types include: " + ", ".join(accepted)
    return ApiError(415, "UnsupportedMediaType", message)


def entity_too_large(limit: int) -> ApiError:
    """Refuse: the body is larger than any object may be."""
    return ApiError(413, "RequestEntityTooLarge", f"Request entity too large: limit is {limit}")


def too_many_requests(retry_after: int) -> ApiError:
    """Refuse: the client asks too often."""
    message = "Too many requests, please try again later."
    return ApiError(429, "TooManyRequests", message, details={}, retry_after=retry_after)


def internal(why: str) -> ApiError:
    """Refuse: it is the server's own fault."""
    return ApiError(500, "InternalError", f"Internal error occurred: {why}", details={"causes": [{"message": why}]})
