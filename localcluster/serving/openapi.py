"""OpenAPI v3: what kubectl reads before it creates, applies or explains.

One document per group and version, made on first use. kubectl looks for the PATCH operation's `fieldValidation`
parameter and the group-version-kind mark to learn that the server validates.
"""

import hashlib
from collections.abc import Iterable

import orjson

from config.api.meta import Obj
from localcluster.kinds.kinds import ServedKind
from localcluster.kinds.schema import to_openapi
from localcluster.kinds.traits import is_builtin
from localcluster.serving.representation import JSON
from localcluster.store.object_meta import METADATA

_PLAIN_TEXT = "text/plain"
"""What kube-apiserver declares its index to be, which is JSON."""
_META_NAME = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_MERGE_TYPES = ("application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json")
_STRATEGIC_TYPE = "application/strategic-merge-patch+json"
_PARAMETERS = [
    {"name": name, "in": "query", "schema": {"type": kind, "uniqueItems": True}}
    for name, kind in (
        ("dryRun", "string"),
        ("fieldManager", "string"),
        ("fieldValidation", "string"),
        ("force", "boolean"),
    )
]


class OpenApi:
    """The index and its documents."""

    def __init__(self, kinds: Iterable[ServedKind]) -> None:
        self._kinds: dict[str, list[ServedKind]] = {}
        for kind in kinds:
            path = f"apis/{kind.group}/{kind.version}" if kind.group else f"api/{kind.version}"
            self._kinds.setdefault(path, []).append(kind)
        self._documents: dict[str, bytes] = {}

    def find(self, path: str) -> tuple[bytes, str] | None:
        """Return the index or a document with its content type, None if there is none."""
        tail = path.strip("/").removeprefix("openapi/v3").strip("/")
        if not tail:
            return self._index(), _PLAIN_TEXT
        return (self._document(tail), JSON) if tail in self._kinds else None

    def _index(self) -> bytes:
        paths = {}
        for path in self._kinds:
            digest = hashlib.sha256(self._document(path)).hexdigest().upper()
            paths[path] = {"serverRelativeURL": f"/openapi/v3/{path}?hash={digest}"}
        return orjson.dumps({"paths": paths})

    def _document(self, path: str) -> bytes:
        found = self._documents.get(path)
        if found is None:
            found = self._documents[path] = orjson.dumps(_describe(path, self._kinds[path]))
        return found


def _describe(path: str, kinds: list[ServedKind]) -> Obj:
    paths: Obj = {}
    schemas: Obj = {_META_NAME: {"type": "object", **to_openapi(METADATA)}}
    for kind in kinds:
        scope = "/namespaces/{namespace}" if kind.namespaced else ""
        base = f"/{path}{scope}/{kind.plural}"
        paths[base] = {"get": _operation("list", kind), "post": _operation("post", kind)}
        paths[f"{base}/{{name}}"] = {verb: _operation(verb, kind) for verb in ("get", "put", "patch", "delete")}
        schemas[_schema_name(kind)] = _schema(kind)
    info = {"title": "Kubernetes", "version": "v1.36.3"}
    return {"openapi": "3.0.0", "info": info, "paths": paths, "components": {"schemas": schemas}}


def _schema_name(kind: ServedKind) -> str:
    prefix = ".".join(reversed(kind.group.split("."))) if kind.group else "io.k8s.api.core"
    return f"{prefix}.{kind.version}.{kind.kind}"


def _mark(kind: ServedKind) -> Obj:
    return {"group": kind.group, "version": kind.version, "kind": kind.kind}


def _operation(verb: str, kind: ServedKind) -> Obj:
    reference = {"$ref": f"#/components/schemas/{_schema_name(kind)}"}
    content = {"application/json": {"schema": reference}}
    operation: Obj = {
        "operationId": f"{verb}{kind.group.title().replace('.', '')}{kind.version.title()}{kind.kind}",
        "responses": {"200": {"description": "OK", "content": content}},
        "x-kubernetes-action": verb,
        "x-kubernetes-group-version-kind": _mark(kind),
    }
    if verb in ("post", "put", "patch"):
        operation["parameters"] = _PARAMETERS
        types = _MERGE_TYPES + ((_STRATEGIC_TYPE,) if is_builtin(kind) else ())
        patch = {media_type: {"schema": {"type": "object"}} for media_type in types}
        operation["requestBody"] = {"content": patch if verb == "patch" else content, "required": True}
    return operation


def _schema(kind: ServedKind) -> Obj:
    described = to_openapi(kind.schema)
    properties = {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"allOf": [{"$ref": f"#/components/schemas/{_META_NAME}"}], "default": {}},
    }
    described["type"] = "object"
    described["properties"] = {**described.get("properties", {}), **properties}
    described["x-kubernetes-group-version-kind"] = [_mark(kind)]
    return described
