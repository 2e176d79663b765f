"""One cluster through kubernetes-asyncio's typed APIs, with the errors that the rest of the project knows.

The session is ours: TLS from PEM strings that never touch the disk, and no proxies or credentials from the environment,
so that only the kubeconfig says how the cluster is reached. Every request has a deadline. Nothing is retried:
the operator can run the command again.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final

import aiohttp
from kubernetes_asyncio.client import (
    ApiClient,
    ApiException,
    AuthenticationV1TokenRequest,
    Configuration,
    CoreV1Api,
    CustomObjectsApi,
    RbacAuthorizationV1Api,
    V1DeleteOptions,
    V1Preconditions,
    V1TokenRequestSpec,
)

from config.api.meta import Obj, ObjectKey
from config.kubeconfig.access import ClusterAccess
from config.names import FIELD_MANAGER
from workerclient.base.errors import (
    ClusterError,
    NotServed,
    Operation,
    ProtocolViolation,
    TimedOut,
    Unavailable,
    error_for,
)
from workerclient.base.kind import ApiKind
from workerclient.objects.resource import Precondition
from workerclient.operator.tokens import ServiceToken
from workerclient.transport.endpoint import endpoint_for
from workerclient.wire import codec
from workerclient.wire.codec import ListChunk

_SECONDS: Final = 30.0
_PAGE: Final = 500
_MERGE: Final = "application/merge-patch+json"
_TYPED: Final[Mapping[tuple[str, str], tuple[type[Any], str]]] = {
    ("", "Namespace"): (CoreV1Api, "namespace"),
    ("", "Pod"): (CoreV1Api, "pod"),
    ("", "Secret"): (CoreV1Api, "secret"),
    ("", "ServiceAccount"): (CoreV1Api, "service_account"),
    ("rbac.authorization.k8s.io", "ClusterRole"): (RbacAuthorizationV1Api, "cluster_role"),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): (RbacAuthorizationV1Api, "cluster_role_binding"),
}
"""The kinds that have methods of their own; the others are custom objects."""


class OperatorCluster:
    """One cluster. To be made inside the running loop; raises `ValueError` for certificates that cannot be used."""

    def __init__(self, name: str, access: ClusterAccess) -> None:
        self.name = name
        self._token = access.token
        endpoint = endpoint_for(access)
        configuration = Configuration()
        configuration.host = endpoint.server
        configuration.proxy = endpoint.proxy
        configuration.tls_server_name = endpoint.server_name
        configuration.client_side_validation = False  # the server decides what is valid
        if access.token is not None:
            configuration.api_key["BearerToken"] = f"Bearer {access.token}"
        self._api = ApiClient(configuration)
        self._replaced = self._api.rest_client.pool_manager
        connector = aiohttp.TCPConnector(ssl=endpoint.tls)
        self._api.rest_client.pool_manager = aiohttp.ClientSession(connector=connector, trust_env=False)

    def resource(self, kind: ApiKind) -> "OperatorKind":
        """Return the way to read and write a kind."""
        return OperatorKind(self, self._api, kind)

    async def request_token(self, account: ObjectKey, seconds: int) -> ServiceToken:
        """Have a token of a service account made; the cluster may give it a shorter life than asked for."""
        operation = Operation(self.name, "create", "serviceaccounts/token", str(account))
        body = AuthenticationV1TokenRequest(spec=V1TokenRequestSpec(audiences=[], expiration_seconds=seconds))
        create = CoreV1Api(self._api).create_namespaced_service_account_token
        status = (await self.call(operation, partial(create, account.name, account.namespace, body))).get("status")
        token, expires = (status.get(key) for key in ("token", "expirationTimestamp")) if status else ("", "")
        if not (isinstance(token, str) and token and isinstance(expires, str)):
            # The answer is not quoted: it may hold the token.
            expected = "a TokenRequest with status.token and status.expirationTimestamp"
            raise ProtocolViolation(operation, f"expected {expected}")
        return ServiceToken(token, expires.replace("+00:00", "Z"))

    async def served_kinds(self, kinds: Iterable[ApiKind]) -> Mapping[ApiKind, bool]:
        """Return for each kind whether the cluster serves it at that version."""
        wanted = list(kinds)
        groups = {(kind.group, kind.version): kind.group_path for kind in wanted}
        plurals = {group: await self._plurals(*group, path) for group, path in groups.items()}
        return {kind: kind.plural in plurals[kind.group, kind.version] for kind in wanted}

    async def close(self) -> None:
        """End the connections."""
        await self._replaced.close()
        await self._api.close()

    async def call(self, operation: Operation, method: Callable[..., Awaitable[Any]]) -> Obj:
        """Return what an API method answers, as JSON has it; raises a `ClusterError`."""
        try:
            answer = self._api.sanitize_for_serialization(await method(_request_timeout=_SECONDS))
        except ApiException as error:
            raise self._failure(operation, error) from None
        except TimeoutError:
            raise TimedOut(operation, f"no answer within {_SECONDS:g} s", executed=True) from None
        except (aiohttp.ClientError, OSError) as error:
            host = self._api.configuration.host
            raise Unavailable(operation, f"{host} cannot be reached: {error}", executed=True) from None
        except (ValueError, TypeError, LookupError, AttributeError):
            raise ProtocolViolation(operation, "the response cannot be parsed") from None
        if not isinstance(answer, dict):
            raise ProtocolViolation(operation, "expected an object")
        return answer

    async def _plurals(self, group: str, version: str, path: str) -> frozenset[str]:
        resources = partial(CustomObjectsApi(self._api).get_api_resources, group, version)
        try:
            listed = await self.call(
                Operation(self.name, "get", path), resources if group else CoreV1Api(self._api).get_api_resources
            )
        except NotServed:
            return frozenset()
        return frozenset(codec.texts_of(listed.get("resources") or (), "name"))

    def _failure(self, operation: Operation, error: ApiException) -> ClusterError:
        body = str(error.body or "")
        if self._token:
            body = body.replace(self._token, "[token]")
        status = codec.decode_status(body.encode())
        message = "" if status is not None or not body else f"HTTP {error.status}: {codec.sample(body.encode())}"
        return error_for(operation, error.status or 0, status, message=message)


class OperatorKind:
    """One kind on one cluster."""

    def __init__(self, cluster: OperatorCluster, api: ApiClient, kind: ApiKind) -> None:
        self._cluster = cluster
        self._api = api
        self._kind = kind

    async def get(self, key: ObjectKey) -> Obj:
        """Return an object; raises `NotFound`."""
        return await self._cluster.call(self._operation("get", key), self._method("get", key))

    async def create(self, document: Obj) -> Obj:
        """Create an object; raises `AlreadyExists`."""
        key = _key_of(document)
        method = self._method("create", key, is_named=False)
        write = partial(method, body=document, field_manager=FIELD_MANAGER)
        return await self._cluster.call(self._operation("create", key), write)

    async def replace(self, document: Obj) -> Obj:
        """Put an object in place of the version that it names; raises `Conflict` if that changed."""
        key = _key_of(document)
        write = partial(self._method("replace", key), body=document, field_manager=FIELD_MANAGER)
        return await self._cluster.call(self._operation("update", key), write)

    async def merge_patch(self, key: ObjectKey, patch: Mapping[str, Any], precondition: Precondition) -> Obj:
        """Change some fields; raises `Conflict` if the precondition does not hold."""
        body = {**patch, "metadata": {**patch.get("metadata", {}), **precondition.fields()}}
        method = self._method("patch", key)
        write = partial(method, body=body, field_manager=FIELD_MANAGER, _content_type=_MERGE)
        return await self._cluster.call(self._operation("patch", key), write)

    async def delete(self, key: ObjectKey, precondition: Precondition) -> None:
        """Delete an object; raises `Conflict` if it is another incarnation, `NotFound` if there is none."""
        conditions = V1Preconditions(uid=precondition.uid, resource_version=precondition.resource_version)
        write = partial(self._method("delete", key), body=V1DeleteOptions(preconditions=conditions))
        await self._cluster.call(self._operation("delete", key), write)

    async def pages(self, *, label_selector: str = "", namespace: str = "") -> AsyncIterator[ListChunk]:
        """Yield all objects of a kind, in parts."""
        operation = self._operation("list", ObjectKey(namespace, ""))
        method = self._listing(namespace)
        chosen = {"label_selector": label_selector} if label_selector else {}
        token = ""
        while True:
            following = {"_continue": token} if token else {}
            listed = await self._cluster.call(operation, partial(method, limit=_PAGE, **chosen, **following))
            metadata, items = listed.get("metadata") or {}, listed.get("items")
            if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
                raise ProtocolViolation(operation, "expected a list of objects")
            token = str(metadata.get("continue") or "")
            found = [(codec.identity_of(operation, item), item) for item in items]
            yield ListChunk(found, str(metadata.get("resourceVersion") or ""), token, 0, 0)
            if not token:
                return

    def _listing(self, namespace: str) -> Callable[..., Awaitable[Any]]:
        typed = _TYPED.get((self._kind.group, self._kind.kind))
        if typed is None or namespace or not self._kind.namespaced:
            return self._method("list", ObjectKey(namespace, ""), is_named=False)
        api, name = typed
        return self._api_method(api, f"list_{name}_for_all_namespaces")

    def _method(self, verb: str, key: ObjectKey, *, is_named: bool = True) -> Callable[..., Awaitable[Any]]:
        kind, name, namespace = self._kind, (key.name,) if is_named else (), (key.namespace,) if key.namespace else ()
        typed = _TYPED.get((kind.group, kind.kind))
        if typed is None:
            scope = "namespaced" if namespace else "cluster"
            method = self._api_method(CustomObjectsApi, f"{verb}_{scope}_custom_object")
            return partial(method, kind.group, kind.version, *namespace, kind.plural, *name)
        api, called = typed
        scope = "namespaced_" if namespace else ""
        return partial(self._api_method(api, f"{'read' if verb == 'get' else verb}_{scope}{called}"), *name, *namespace)

    def _api_method(self, api: type[Any], name: str) -> Callable[..., Awaitable[Any]]:
        method: Callable[..., Awaitable[Any]] = getattr(api(self._api), name)
        return method

    def _operation(self, verb: str, key: ObjectKey) -> Operation:
        return Operation(self._cluster.name, verb, self._kind.resource, str(key) if key.name else "")


def _key_of(document: Obj) -> ObjectKey:
    return ObjectKey(document["metadata"].get("namespace", ""), document["metadata"]["name"])
