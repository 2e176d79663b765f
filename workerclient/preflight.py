"""Asks a cluster beforehand what it serves and what we may do there, so that what is missing is said by name.

Reads only: discovery and SelfSubjectAccessReview, which every authenticated user may create.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from workerclient import codec
from workerclient.errors import NotServed, Operation, ProtocolViolation
from workerclient.kind import ApiKind
from workerclient.resource import Line
from workerclient.session import Request

_REVIEWS = ApiKind(
    "authorization.k8s.io", "v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews", namespaced=False
)


@dataclass(frozen=True, slots=True)
class Need:
    """Verbs that are needed on one kind, or on a subresource of it."""

    kind: ApiKind
    verbs: tuple[str, ...]
    subresource: str = ""
    namespace: str = ""

    @property
    def resource(self) -> str:
        """Return the name that an RBAC rule would use."""
        return f"{self.kind.resource}/{self.subresource}" if self.subresource else self.kind.resource


@dataclass(frozen=True, slots=True)
class Missing:
    """One verb that we may not use."""

    verb: str
    resource: str

    def __str__(self) -> str:
        return f"{self.verb} {self.resource}"


async def served_kinds(line: Line, kinds: Iterable[ApiKind]) -> Mapping[ApiKind, bool]:
    """Return for each kind whether the cluster serves it at that version."""
    served: dict[ApiKind, bool] = {}
    plurals: dict[str, frozenset[str]] = {}
    for kind in kinds:
        if kind.group_path not in plurals:
            plurals[kind.group_path] = await _plurals(line, kind.group_path)
        served[kind] = kind.plural in plurals[kind.group_path]
    return served


async def missing_permissions(line: Line, needs: Iterable[Need]) -> list[Missing]:
    """Return the verbs that the cluster would refuse us."""
    return [
        Missing(verb, need.resource) for need in needs for verb in need.verbs if not await _is_allowed(line, need, verb)
    ]


async def _plurals(line: Line, group_path: str) -> frozenset[str]:
    operation = Operation(line.cluster, "get", group_path)
    try:
        body = await line.transport.call(Request(operation, "GET", group_path), repeatable=True)
    except NotServed:
        return frozenset()
    document = codec.decode_any_object(operation, body, "an APIResourceList")
    resources = document.get("resources")
    if document.get("kind") != "APIResourceList" or not isinstance(resources, list):
        raise ProtocolViolation(operation, "expected an APIResourceList")
    return frozenset(str(each.get("name")) for each in resources if isinstance(each, dict))


async def _is_allowed(line: Line, need: Need, verb: str) -> bool:
    operation = Operation(line.cluster, "create", _REVIEWS.resource, f"{verb} {need.resource}")
    attributes = {
        "verb": verb,
        "group": need.kind.group,
        "version": need.kind.version,
        "resource": need.kind.plural,
        "subresource": need.subresource,
        "namespace": need.namespace,
    }
    review: Mapping[str, Any] = {
        "apiVersion": _REVIEWS.api_version,
        "kind": _REVIEWS.kind,
        "spec": {"resourceAttributes": attributes},
    }
    path, document = _REVIEWS.collection_path(), codec.encode(review)
    request = Request(operation, "POST", path, body=document, content_type=codec.JSON, stores=False)
    # Nothing is stored by a review, so asking twice does no harm.
    answer = codec.decode_any_object(operation, await line.transport.call(request, repeatable=True), "a review")
    status = answer.get("status")
    if not isinstance(status, dict) or not isinstance(status.get("allowed"), bool):
        raise ProtocolViolation(operation, "expected a review with status.allowed")
    return bool(status["allowed"])
