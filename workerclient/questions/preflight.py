"""Asks a cluster beforehand what it serves and what we may do there, so that what is missing is said by name.

Reads only: discovery and reviews of ourselves, which every authenticated user may create. One review of our rules
answers for all that is granted; only what it does not show is asked for verb by verb.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from config.api.meta import Obj
from workerclient.base.errors import NotServed, Operation, ProtocolViolation
from workerclient.base.kind import ApiKind
from workerclient.objects.resource import Connection
from workerclient.questions.reviews import post_review
from workerclient.transport.session import Request
from workerclient.wire import codec

_GROUP: Final = "authorization.k8s.io"
_ACCESS_REVIEWS: Final = ApiKind(_GROUP, "v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews", namespaced=False)
_RULES_REVIEWS: Final = ApiKind(_GROUP, "v1", "SelfSubjectRulesReview", "selfsubjectrulesreviews", namespaced=False)
_ANY: Final = "*"
_SOME_NAMESPACE: Final = "turnstile-preflight"
"""A namespace without role bindings, so that the rules seen are those that hold everywhere; it need not
exist."""


@dataclass(frozen=True, slots=True)
class Need:
    """Verbs that are needed on one kind, or on a subresource of it; everywhere, in a namespace, or on one object."""

    kind: ApiKind
    verbs: tuple[str, ...]
    subresource: str = ""
    namespace: str = ""
    """The one namespace in which they are needed, if it is not all of them."""
    name: str = ""
    """The one object for which they are needed, if it is not all of them."""

    @property
    def resource(self) -> str:
        """Return the name that people use."""
        whole = f"{self.kind.resource}/{self.subresource}" if self.subresource else self.kind.resource
        return f"{whole} {self.place}" if self.place else whole

    @property
    def place(self) -> str:
        """Return where the verbs are needed, if not everywhere."""
        return "/".join(filter(None, (self.namespace, self.name or ("*" if self.namespace else ""))))

    @property
    def rule_resource(self) -> str:
        """Return the name that an RBAC rule uses."""
        return f"{self.kind.plural}/{self.subresource}" if self.subresource else self.kind.plural


@dataclass(frozen=True, slots=True)
class Missing:
    """One verb that we may not use."""

    verb: str
    resource: str
    kind: ApiKind

    def __str__(self) -> str:
        return f"{self.verb} {self.resource}"


async def served_kinds(line: Connection, kinds: Iterable[ApiKind]) -> Mapping[ApiKind, bool]:
    """Return for each kind whether the cluster serves it at that version."""
    served: dict[ApiKind, bool] = {}
    plurals: dict[str, frozenset[str]] = {}
    for kind in kinds:
        if kind.group_path not in plurals:
            plurals[kind.group_path] = await _plurals(line, kind.group_path)
        served[kind] = kind.plural in plurals[kind.group_path]
    return served


async def served_versions(line: Connection, group: str) -> tuple[str, ...]:
    """Return the versions of a group that the cluster serves, the preferred one first; none if it has no such group."""
    path = f"/apis/{group}"
    operation = Operation(line.cluster, "get", path)
    try:
        body = await line.transport.call(Request(operation, "GET", path), repeatable=True)
    except NotServed:
        return ()
    document = codec.decode_any_object(operation, body, "an APIGroup")
    versions = document.get("versions")
    if document.get("kind") != "APIGroup" or not isinstance(versions, list):
        raise ProtocolViolation(operation, "expected an APIGroup")
    found = tuple(codec.texts_of(versions, "version"))
    if len(found) != len(versions):  # what a group does not serve is concluded from its absence
        raise ProtocolViolation(operation, "expected an APIGroup whose versions have names")
    return found


async def missing_permissions(line: Connection, needs: Iterable[Need]) -> list[Missing]:
    """Return the verbs that the cluster would refuse us somewhere."""
    rules = await _rules(line)
    return [
        Missing(verb, need.resource, need.kind)
        for need in needs
        for verb in need.verbs
        if not _is_granted(rules, need, verb) and not await _is_allowed(line, need, verb)
    ]


async def _plurals(line: Connection, group_path: str) -> frozenset[str]:
    operation = Operation(line.cluster, "get", group_path)
    try:
        body = await line.transport.call(Request(operation, "GET", group_path), repeatable=True)
    except NotServed:
        return frozenset()
    document = codec.decode_any_object(operation, body, "an APIResourceList")
    resources = document.get("resources")
    if document.get("kind") != "APIResourceList" or not isinstance(resources, list):
        raise ProtocolViolation(operation, "expected an APIResourceList")
    return frozenset(codec.texts_of(resources, "name"))


async def _rules(line: Connection) -> list[Obj]:
    operation = Operation(line.cluster, "create", _RULES_REVIEWS.resource)
    status = await post_review(line, operation, _RULES_REVIEWS, {"namespace": _SOME_NAMESPACE})
    rules = status.get("resourceRules")
    if not isinstance(rules, list) or not all(isinstance(rule, dict) for rule in rules):
        raise ProtocolViolation(operation, "expected a review with status.resourceRules")
    return rules


def _is_granted(rules: list[Obj], need: Need, verb: str) -> bool:
    """Return whether a rule grants the verb on all objects; a rule for some names only shows nothing."""
    return not need.place and any(
        not rule.get("resourceNames")
        and _has(rule.get("verbs"), verb)
        and _has(rule.get("apiGroups"), need.kind.group)
        and _has(rule.get("resources"), need.rule_resource)
        for rule in rules
    )


def _has(granted: object, wanted: str) -> bool:
    return isinstance(granted, list) and (_ANY in granted or wanted in granted)


async def _is_allowed(line: Connection, need: Need, verb: str) -> bool:
    operation = Operation(line.cluster, "create", _ACCESS_REVIEWS.resource, f"{verb} {need.resource}")
    attributes = {
        "verb": verb,
        "group": need.kind.group,
        "version": need.kind.version,
        "resource": need.kind.plural,
        "subresource": need.subresource,
        "namespace": need.namespace,
        "name": need.name,
    }
    status = await post_review(line, operation, _ACCESS_REVIEWS, {"resourceAttributes": attributes})
    if not isinstance(status.get("allowed"), bool):
        raise ProtocolViolation(operation, "expected a review with status.allowed")
    return bool(status["allowed"])
