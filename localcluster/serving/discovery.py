"""Discovery: what the server serves, for clients that ask before they act.

Both the old documents (/api, /apis, one list per version) and the aggregated one that kubectl prefers.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from config.api.meta import Obj
from localcluster.access.reviews import REVIEWS
from localcluster.kinds.kinds import ServedKind
from localcluster.kinds.traits import is_service_account
from localcluster.store.namespaces import is_namespace
from localcluster.store.pods import is_pod

VERSION: Obj = {
    "major": "1",
    "minor": "36",
    "gitVersion": "v1.36.3+turnstile",
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "",
    "compiler": "",
    "platform": "linux/amd64",
}
_VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
_AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


@dataclass(frozen=True, slots=True)
class _Resource:
    name: str
    singular: str
    kind: str
    namespaced: bool
    verbs: list[str]
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[tuple[str, str, list[str]], ...] = ()
    """Name, kind and verbs of each subresource."""


class DiscoveryDocuments:
    """The documents, made once from the served kinds."""

    def __init__(self, kinds: Iterable[ServedKind]) -> None:
        self.release: str = VERSION["gitVersion"]
        """Which release of Kubernetes the server says it is."""
        self._versions: dict[tuple[str, str], list[_Resource]] = {}
        for kind in kinds:
            self._versions.setdefault((kind.group, kind.version), []).append(_resource(kind))
        for review in REVIEWS:
            resource = _Resource(review.plural, review.kind.lower(), review.kind, namespaced=False, verbs=["create"])
            self._versions.setdefault((review.group, "v1"), []).append(resource)

    def find(self, path: str, accept: str) -> tuple[Obj, str] | None:
        """Return the document at a path and its media type, None if there is none."""
        parts = path.strip("/").split("/")
        match parts:
            case [""]:
                return {"paths": self._paths()}, "application/json"
            case ["version"]:
                return {**VERSION, "gitVersion": self.release}, "application/json"
            case ["api" | "apis"] if "as=APIGroupDiscoveryList" in accept:
                return self._aggregated(core=parts == ["api"]), _AGGREGATED
            case ["api"]:
                return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}, "application/json"
            case ["apis"]:
                groups = [self._group(group) for group in self._groups()]
                return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}, "application/json"
            case ["api", version]:
                return self._resource_list("", version)
            case ["apis", group] if group in self._groups():
                return {"kind": "APIGroup", "apiVersion": "v1", **self._group(group)}, "application/json"
            case ["apis", group, version]:
                return self._resource_list(group, version)
        return None

    def _paths(self) -> list[str]:
        groups = [f"/apis/{group}" for group in self._groups()]
        versions = [f"/apis/{group}/{version}" if group else f"/api/{version}" for group, version in self._versions]
        others = ["/api", "/apis", "/healthz", "/livez", "/openapi/v3", "/readyz", "/version"]
        return sorted([*groups, *versions, *others])

    def _groups(self) -> list[str]:
        return list(dict.fromkeys(group for group, _ in self._versions if group))

    def _group(self, group: str) -> Obj:
        versions = [
            {"groupVersion": f"{group}/{version}", "version": version}
            for each, version in self._versions
            if each == group
        ]
        return {"name": group, "versions": versions, "preferredVersion": versions[0]}

    def _resource_list(self, group: str, version: str) -> tuple[Obj, str] | None:
        resources = self._versions.get((group, version))
        if resources is None:
            return None
        shown = []
        for resource in resources:
            shown.append(_listed(resource))
            for name, kind, verbs in resource.subresources:
                shown.append(
                    {
                        "name": f"{resource.name}/{name}",
                        "singularName": "",
                        "namespaced": resource.namespaced,
                        "kind": kind,
                        "verbs": verbs,
                    }
                )
        group_version = f"{group}/{version}" if group else version
        document = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": shown}
        return document, "application/json"

    def _aggregated(self, *, core: bool) -> Obj:
        groups = [""] if core else self._groups()
        items = []
        for group in groups:
            versions = [
                {
                    "version": version,
                    "resources": [_aggregated_resource(group, version, resource) for resource in resources],
                    "freshness": "Current",
                }
                for (each, version), resources in self._versions.items()
                if each == group
            ]
            items.append({"metadata": {"name": group} if group else {}, "versions": versions})
        return {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items}


def _resource(kind: ServedKind) -> _Resource:
    subresources: list[tuple[str, str, list[str]]] = []
    if kind.has_status:
        subresources.append(("status", kind.kind, ["get", "patch", "update"]))
    if is_pod(kind):
        subresources.append(("binding", "Binding", ["create"]))
    if is_service_account(kind):
        subresources.append(("token", "TokenRequest", ["create"]))
    return _Resource(
        kind.plural,
        kind.singular,
        kind.kind,
        kind.namespaced,
        [verb for verb in _VERBS if verb != "deletecollection"] if is_namespace(kind) else _VERBS,
        kind.short_names,
        kind.categories,
        tuple(subresources),
    )


def _listed(resource: _Resource) -> Obj:
    shown: Obj = {
        "name": resource.name,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": resource.verbs,
    }
    if resource.short_names:
        shown["shortNames"] = list(resource.short_names)
    if resource.categories:
        shown["categories"] = list(resource.categories)
    return shown


def _aggregated_resource(group: str, version: str, resource: _Resource) -> Obj:
    kind = {"group": group, "version": version, "kind": resource.kind}
    shown: Obj = {
        "resource": resource.name,
        "responseKind": kind,
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": resource.verbs,
    }
    if resource.short_names:
        shown["shortNames"] = list(resource.short_names)
    if resource.categories:
        shown["categories"] = list(resource.categories)
    if resource.subresources:
        shown["subresources"] = [
            {"subresource": name, "responseKind": {**kind, "kind": sub_kind}, "verbs": verbs}
            for name, sub_kind, verbs in resource.subresources
        ]
    return shown
