"""Questions that a cluster answers without storing anything: who bears a token, and what that user may do.

The caller needs permission to create these reviews. No error here holds the token that was asked about.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from config.api.meta import Obj
from workerclient.base.errors import Operation, ProtocolViolation
from workerclient.base.kind import ApiKind
from workerclient.objects.resource import Connection
from workerclient.transport.session import Request
from workerclient.wire import codec

_TOKENS: Final = ApiKind("authentication.k8s.io", "v1", "TokenReview", "tokenreviews", namespaced=False)
_ACCESS: Final = ApiKind("authorization.k8s.io", "v1", "SubjectAccessReview", "subjectaccessreviews", namespaced=False)


@dataclass(frozen=True, slots=True)
class ReviewedUser:
    """A user as a cluster knows it, with everything that its authorization may depend on."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


async def post_review(line: Connection, operation: Operation, kind: ApiKind, spec: Mapping[str, Any]) -> Obj:
    """Return the status of a review."""
    body = codec.encode({"apiVersion": kind.api_version, "kind": kind.kind, "spec": spec})
    request = Request(operation, "POST", kind.collection_path(), body=body, content_type=codec.JSON, stores=False)
    # Nothing is stored by a review, so asking twice does no harm.
    answer = codec.decode_any_object(operation, await line.transport.call(request, repeatable=True), "a review")
    status = answer.get("status")
    if not isinstance(status, dict):
        raise ProtocolViolation(operation, "expected a review with its status")
    return status


async def bearer_of(line: Connection, token: str, audiences: Sequence[str]) -> ReviewedUser | None:
    """Return who bears a token made for one of the audiences, for the cluster itself if there are none."""
    operation = Operation(line.cluster, "create", _TOKENS.resource)
    spec: Obj = {"token": token, **({"audiences": list(audiences)} if audiences else {})}
    status = await post_review(line, operation, _TOKENS, spec)
    if status.get("authenticated") is not True:
        return None
    # A server without support for audiences names none: then they were not checked.
    if audiences and not set(audiences) & set(_texts(status.get("audiences"))):
        return None
    user = status.get("user")
    name = user.get("username") if isinstance(user, dict) else None
    if not isinstance(user, dict) or not isinstance(name, str) or not name:
        raise ProtocolViolation(operation, "expected a review with status.user.username")
    uid, extra = user.get("uid") or "", user.get("extra")
    if not isinstance(uid, str):
        raise ProtocolViolation(operation, "expected a review with a string as status.user.uid")
    return ReviewedUser(
        name,
        uid,
        _texts(user.get("groups")),
        tuple(sorted((key, _texts(values)) for key, values in extra.items())) if isinstance(extra, dict) else (),
    )


async def may_use_path(line: Connection, subject: ReviewedUser, verb: str, path: str) -> bool:
    """Return whether a user may use a non-resource path."""
    operation = Operation(line.cluster, "create", _ACCESS.resource)
    spec: Obj = {
        "user": subject.name,
        "uid": subject.uid,
        "groups": list(subject.groups),
        "extra": {key: list(values) for key, values in subject.extra},
        "nonResourceAttributes": {"verb": verb, "path": path},
    }
    status = await post_review(line, operation, _ACCESS, spec)
    if not isinstance(status.get("allowed"), bool):
        raise ProtocolViolation(operation, "expected a review with status.allowed")
    return bool(status["allowed"]) and status.get("denied") is not True


def _texts(found: object) -> tuple[str, ...]:
    return tuple(each for each in found if isinstance(each, str)) if isinstance(found, list) else ()
