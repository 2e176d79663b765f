"""Questions that a cluster answers without storing anything: who bears a token, and what that user may do.

Whoever asks needs leave to create these reviews. No error here holds the token that was asked about.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from workerclient import codec
from workerclient.codec import Raw
from workerclient.errors import Operation, ProtocolViolation
from workerclient.kind import ApiKind
from workerclient.resource import Line
from workerclient.session import Request

_TOKENS: Final = ApiKind("authentication.k8s.io", "v1", "TokenReview", "tokenreviews", namespaced=False)
_ACCESS: Final = ApiKind("authorization.k8s.io", "v1", "SubjectAccessReview", "subjectaccessreviews", namespaced=False)


@dataclass(frozen=True, slots=True)
class Subject:
    """Somebody that a cluster knows, with everything that its authorization may look at."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


async def post_review(line: Line, operation: Operation, kind: ApiKind, spec: Mapping[str, Any]) -> Raw:
    """Return the status of a review."""
    body = codec.encode({"apiVersion": kind.api_version, "kind": kind.kind, "spec": spec})
    request = Request(operation, "POST", kind.collection_path(), body=body, content_type=codec.JSON, stores=False)
    # Nothing is stored by a review, so asking twice does no harm.
    answer = codec.decode_any_object(operation, await line.transport.call(request, repeatable=True), "a review")
    status = answer.get("status")
    if not isinstance(status, dict):
        raise ProtocolViolation(operation, "expected a review with its status")
    return status


async def bearer_of(line: Line, token: str, audiences: Sequence[str]) -> Subject | None:
    """Return who bears a token made for one of the audiences, for the cluster itself if there are none."""
    operation = Operation(line.cluster, "create", _TOKENS.resource)
    spec: Raw = {"token": token, **({"audiences": list(audiences)} if audiences else {})}
    status = await post_review(line, operation, _TOKENS, spec)
    if status.get("authenticated") is not True:
        return None
    # A server that knows nothing of audiences names none: then nobody has checked them.
    if audiences and not set(audiences) & set(_texts(status.get("audiences"))):
        return None
    user = status.get("user")
    name = user.get("username") if isinstance(user, dict) else None
    if not isinstance(user, dict) or not isinstance(name, str) or not name:
        raise ProtocolViolation(operation, "expected a review with status.user.username")
    extra = user.get("extra")
    return Subject(
        name,
        str(user.get("uid") or ""),
        _texts(user.get("groups")),
        tuple(sorted((str(key), _texts(values)) for key, values in extra.items())) if isinstance(extra, dict) else (),
    )


async def may_use_path(line: Line, subject: Subject, verb: str, path: str) -> bool:
    """Tell whether somebody may use a path that is no resource."""
    operation = Operation(line.cluster, "create", _ACCESS.resource)
    spec: Raw = {
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
