"""The verbs: turns a decoded request into calls of the store and the store's answer into bytes.

Synchronous. `localcluster.serving.http` arranges what has to wait: a version that is still to come, a watch.
"""

from collections.abc import Callable

import orjson

from config.api.meta import Obj
from localcluster.access import service_accounts
from localcluster.access.auth import TokenUser, Users
from localcluster.access.reviews import Review, answer_review
from localcluster.access.service_accounts import ServiceAccounts
from localcluster.kinds.api_errors import bad_request, unsupported_media_type
from localcluster.kinds.kinds import ServedKind
from localcluster.kinds.traits import is_builtin
from localcluster.serving.lists import matching_versions, read_page
from localcluster.serving.options import ListOptions, delete_options, list_options, write_options
from localcluster.serving.protobuf.body import decode_protobuf
from localcluster.serving.representation import JSON, PROTOBUF, YAML, View
from localcluster.serving.requests import DECODABLE, Reply, ServerRequest, decode, decode_object
from localcluster.serving.routes import RouteTarget
from localcluster.store.deletion import Deletion
from localcluster.store.ownership import root_schema
from localcluster.store.patch import json_patch, merge_patch
from localcluster.store.pods import is_pod
from localcluster.store.store import Store
from localcluster.store.strategic import strategic_merge_patch
from localcluster.store.write_options import Written

_JSON_PATCH = "application/json-patch+json"
_MERGE_PATCH = "application/merge-patch+json"
_STRATEGIC_PATCH = "application/strategic-merge-patch+json"
_APPLY_PATCH = "application/apply-patch+yaml"
_CUSTOM_PATCHES = (_JSON_PATCH, _MERGE_PATCH, _APPLY_PATCH)


class Handlers:
    """One method per verb."""

    def __init__(self, store: Store, users: Users, accounts: ServiceAccounts) -> None:
        self._store = store
        self._users = users
        self._accounts = accounts

    def get(self, target: RouteTarget, view: View) -> Reply:
        """Show one object."""
        kind = target.collection.kind
        version = self._store.version(kind, (target.namespace or "", target.name))
        return _reply(view, view.encode_object(kind, version))

    def list(self, target: RouteTarget, options: ListOptions, view: View, current: int) -> Reply:
        """Show one page of objects."""
        page = read_page(target.collection, target.namespace, options, current)
        return _reply(view, view.encode_page(target.collection.kind, page))

    def create(self, target: RouteTarget, request: ServerRequest, view: View) -> Reply:
        """Create an object; a binding is created in a pod, a token for a service account."""
        kind = target.collection.kind
        options = write_options(request.query, request.user_agent, "create")
        if target.subresource == "binding":
            return self._bind(target, request)
        if target.subresource == "token":
            return self._issue_token(target, request)
        decoded = decode_object(kind, request, options.field_validation)
        written = self._store.create(kind, decoded.obj, target.namespace or "", options)
        return _written(view, kind, written, decoded.warnings)

    def _bind(self, target: RouteTarget, request: ServerRequest) -> Reply:
        options = write_options(request.query, request.user_agent, "create")
        binding = _decoded(request, "v1", "Binding")
        self._store.bind(target.collection.kind, target.name, target.namespace or "", binding, options)
        body = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
        return Reply(orjson.dumps(body), 201)

    def _issue_token(self, target: RouteTarget, request: ServerRequest) -> Reply:
        account = self._store.version(target.collection.kind, (target.namespace or "", target.name))
        body = _decoded(request, service_accounts.API_VERSION, service_accounts.KIND)
        return Reply(orjson.dumps(self._accounts.issue_token(account, body)), 201)

    def update(self, target: RouteTarget, request: ServerRequest, view: View) -> Reply:
        """Replace an object."""
        kind = target.collection.kind
        options = write_options(request.query, request.user_agent, "update")
        decoded = decode_object(kind, request, options.field_validation)
        written = self._store.update(
            kind, decoded.obj, target.name, target.namespace or "", subresource=target.subresource, options=options
        )
        return _written(view, kind, written, decoded.warnings)

    def patch(self, target: RouteTarget, request: ServerRequest, view: View) -> Reply:
        """Change an object by one of the four kinds of patches."""
        kind = target.collection.kind
        accepted = (*_CUSTOM_PATCHES, _STRATEGIC_PATCH) if is_builtin(kind) else _CUSTOM_PATCHES
        if request.media_type not in accepted:
            raise unsupported_media_type(accepted)
        if request.media_type == _APPLY_PATCH:
            return self._apply(target, request, view)
        options = write_options(request.query, request.user_agent, "patch")
        written = self._store.patch(
            kind,
            target.name,
            _patcher(kind, request),
            target.namespace or "",
            subresource=target.subresource,
            options=options,
            text=request.body.decode(errors="replace"),
        )
        return _written(view, kind, written)

    def _apply(self, target: RouteTarget, request: ServerRequest, view: View) -> Reply:
        kind = target.collection.kind
        options = write_options(request.query, request.user_agent, "patch", is_apply=True)
        try:
            configuration = decode(request.body, YAML)
        except ValueError as error:
            raise bad_request(f"error decoding YAML: {error}") from None
        if not isinstance(configuration, dict):
            raise bad_request("error decoding YAML: the applied configuration is not an object")
        _refuse_other_type(kind, configuration)
        written = self._store.apply(
            kind, configuration, target.name, target.namespace or "", subresource=target.subresource, options=options
        )
        return _written(view, kind, written)

    def delete(self, target: RouteTarget, request: ServerRequest, view: View) -> Reply:
        """Delete an object."""
        kind = target.collection.kind
        options = delete_options(request.query, _options_body(request))
        deletion = self._store.delete(kind, target.name, target.namespace or "", options)
        status = 202 if options.reports_waiting and not deletion.is_gone else 200
        if deletion.is_gone and not is_pod(kind):
            return Reply(orjson.dumps(_success(kind, deletion)), status)
        return _reply(view, view.encode_object(kind, deletion.version), status)

    def delete_collection(self, target: RouteTarget, request: ServerRequest, view: View) -> Reply:
        """Delete every object that the selectors match; the answer lists them as they were."""
        kind = target.collection.kind
        selected = list_options(kind, request.query)
        options = delete_options(request.query, _options_body(request))
        versions = matching_versions(target.collection, target.namespace, selected.selector)
        for version in versions:
            namespace, name = version.key
            self._store.delete(kind, name, namespace, options)
        body = {
            "kind": f"{kind.kind}List",
            "apiVersion": kind.api_version,
            "metadata": {"resourceVersion": str(self._store.ledger.revision)},
            "items": [version.obj for version in versions],
        }
        return _reply(view, view.encode(body))

    def review(self, review: Review, request: ServerRequest, user: TokenUser) -> Reply:
        """Answer a question about access."""
        question = _decoded(request, review.api_version, review.kind)
        return Reply(orjson.dumps(answer_review(review, question, user, self._users)), 201)


def _decoded(request: ServerRequest, api_version: str, kind: str) -> Obj:
    """Return the object in the body; the version and kind matter only where the body does not give them."""
    if request.media_type not in ("", *DECODABLE):
        raise unsupported_media_type(DECODABLE)
    if request.media_type == PROTOBUF:
        return decode_protobuf(request.body, api_version, kind)
    try:
        body = decode(request.body, request.media_type or JSON)
    except ValueError as error:
        raise bad_request(f"couldn't get version/kind; json parse error: {error}") from None
    if not isinstance(body, dict):
        raise bad_request("couldn't get version/kind; json parse error: the body is not an object")
    return body


def _options_body(request: ServerRequest) -> Obj | None:
    return _decoded(request, "v1", "DeleteOptions") if request.body else None


def _patcher(kind: ServedKind, request: ServerRequest) -> Callable[[Obj], object]:
    try:
        patch = decode(request.body, JSON)
    except ValueError as error:
        raise bad_request(f"error decoding patch: {error}") from None
    if request.media_type == _JSON_PATCH:
        return lambda obj: json_patch(obj, patch)
    if not isinstance(patch, dict):
        found = "array" if isinstance(patch, list) else "value"
        why = f"json: cannot unmarshal {found} into Go value of type map[string]interface {{}}"
        raise bad_request(f"error decoding patch: {why}")
    if request.media_type == _MERGE_PATCH:
        return lambda obj: merge_patch(obj, patch)
    return lambda obj: strategic_merge_patch(root_schema(kind), obj, patch)


def _refuse_other_type(kind: ServedKind, configuration: Obj) -> None:
    found = (configuration.get("apiVersion", ""), configuration.get("kind", ""))
    if found != (kind.api_version, kind.kind):
        group, _, version = str(found[0]).rpartition("/")
        raise bad_request(f"invalid object type: {group}/{version}, Kind={found[1]}")


def _success(kind: ServedKind, deletion: Deletion) -> Obj:
    meta = deletion.version.obj["metadata"]
    details: Obj = {"name": meta["name"], "kind": kind.plural, "uid": meta["uid"]}
    if kind.group:
        details["group"] = kind.group
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}


def _written(view: View, kind: ServedKind, written: Written, warnings: tuple[str, ...] = ()) -> Reply:
    status = 201 if written.created else 200
    return _reply(view, view.encode_object(kind, written.version), status, (*warnings, *written.warnings))


def _reply(view: View, body: bytes, status: int = 200, warnings: tuple[str, ...] = ()) -> Reply:
    return Reply(body, status, view.representation.media_type, warnings)
