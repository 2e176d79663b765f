"""Paths of resources: which kind, namespace, name and subresource a path means, and which verb a request is."""

from collections.abc import Iterable
from dataclasses import dataclass

from localcluster.access.auth import Attributes
from localcluster.access.reviews import REVIEWS, Review
from localcluster.kinds.api_errors import method_not_allowed, no_such_path
from localcluster.kinds.traits import is_service_account
from localcluster.serving.options import Query, flag
from localcluster.store.ledger import Collection
from localcluster.store.namespaces import is_namespace
from localcluster.store.pods import is_pod


@dataclass(frozen=True, slots=True)
class RouteTarget:
    """What a path means. Namespace None is all namespaces, empty is a cluster-scoped object's."""

    collection: Collection
    namespace: str | None
    name: str = ""
    subresource: str = ""


@dataclass(frozen=True, slots=True)
class ReviewTarget:
    """A question about access."""

    review: Review


_VERBS_OF_ONE = {"GET": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_CREATED_SUBRESOURCES = ("binding", "token")
_VERBS_OF_ALL = {"GET": "list", "POST": "create", "DELETE": "deletecollection"}


class Routes:
    """All paths of the served kinds."""

    def __init__(self, collections: Iterable[Collection]) -> None:
        self._resources: dict[tuple[str, str], dict[str, Collection]] = {}
        for collection in collections:
            kind = collection.kind
            self._resources.setdefault((kind.group, kind.version), {})[kind.plural] = collection
        self._reviews = {(review.group, "v1", review.plural): review for review in REVIEWS}

    def find(self, path: str) -> RouteTarget | ReviewTarget | None:
        """Return what the path means, None if it is not the path of a resource."""
        parts = path.split("/")
        if len(parts) > 3 and parts[1] == "api":
            group, version, rest = "", parts[2], parts[3:]
        elif len(parts) > 4 and parts[1] == "apis":
            group, version, rest = parts[2], parts[3], parts[4:]
        else:
            return None
        if rest and rest[-1] == "":
            rest.pop()
        if len(rest) == 1 and (group, version, rest[0]) in self._reviews:
            return ReviewTarget(self._reviews[group, version, rest[0]])
        resources = self._resources.get((group, version))
        return _target(resources, rest) if resources is not None and rest else None

    def target(self, path: str) -> RouteTarget | ReviewTarget:
        """Return what the path means, or refuse."""
        found = self.find(path)
        if found is None:
            raise no_such_path()
        return found


def _target(resources: dict[str, Collection], rest: list[str]) -> RouteTarget | None:
    namespace: str | None = None
    if rest[0] == "namespaces" and len(rest) > 2 and rest[2] not in ("status", "finalize"):
        namespace, rest = rest[1], rest[2:]
    collection = resources.get(rest[0])
    if collection is None or len(rest) > 3:
        return None
    name = rest[1] if len(rest) > 1 else ""
    subresource = rest[2] if len(rest) > 2 else ""
    if not collection.kind.namespaced:
        if namespace is not None:
            return None
        namespace = ""
    elif namespace is None and name:
        return None
    if subresource and not _has_subresource(collection, subresource):
        return None
    return RouteTarget(collection, namespace, name, subresource)


def _has_subresource(collection: Collection, subresource: str) -> bool:
    match subresource:
        case "status":
            return collection.kind.has_status
        case "binding":
            return is_pod(collection.kind)
        case "finalize":
            return is_namespace(collection.kind)
        case "token":
            return is_service_account(collection.kind)
    return False


def verb_of(method: str, target: RouteTarget, query: Query) -> str:
    """Return the verb as authorization and faults name it, or refuse the method."""
    if target.subresource in _CREATED_SUBRESOURCES:
        verb = "create" if method == "POST" else None
    elif target.name:
        verb = _VERBS_OF_ONE.get(method)
        if target.subresource and method == "DELETE":
            verb = None
    else:
        verb = _VERBS_OF_ALL.get(method)
        if verb in ("create", "deletecollection") and target.namespace is None:
            verb = None
        if verb == "deletecollection" and is_namespace(target.collection.kind):
            verb = None
    if verb is None:
        raise method_not_allowed()
    if verb in ("get", "list") and not target.subresource and flag(query, "watch"):
        return "watch"
    return verb


def attributes_of(verb: str, target: RouteTarget) -> Attributes:
    """Return what authorization has to judge."""
    kind = target.collection.kind
    return Attributes(verb, kind.group, kind.plural, target.subresource, target.namespace or "", target.name)
