"""The objects that make a cluster a worker: roles over there, a Secret and a MultiKueueCluster on the hub."""

import base64
from importlib.resources import files
from typing import TYPE_CHECKING, Final

import yaml

from config.kubeconfig.access import ClusterAccess
from config.names import DOMAIN, KUBECONFIG_KEY, KUEUE_API_VERSION
from manager.onboarding.errors import OnboardingError
from workerclient.kind import ApiKind, Key
from workerclient.tokens import SERVICE_ACCOUNTS, ServiceToken

if TYPE_CHECKING:
    from workerclient.codec import Raw

MADE_BY_US: Final = {"app.kubernetes.io/managed-by": "turnstile-worker"}
"""Marks what may be changed and deleted again. Nothing else is."""
TOKEN_EXPIRES: Final = f"{DOMAIN}/token-expires"

_SHIPPED: Final = ("worker.yaml", "worker-forecasts.yaml")
_FOR_PODS: Final = ("worker-pod-forecasts.yaml",)
_RBAC: Final = "rbac.authorization.k8s.io"
CLUSTER_ROLES: Final = ApiKind(_RBAC, "v1", "ClusterRole", "clusterroles", namespaced=False)
CLUSTER_ROLE_BINDINGS: Final = ApiKind(_RBAC, "v1", "ClusterRoleBinding", "clusterrolebindings", namespaced=False)
_NAMESPACES: Final = ApiKind("", "v1", "Namespace", "namespaces", namespaced=False)
_KINDS_ON_WORKER: Final = {
    kind.kind: kind for kind in (_NAMESPACES, SERVICE_ACCOUNTS, CLUSTER_ROLES, CLUSTER_ROLE_BINDINGS)
}


def worker_objects(*, with_pods: bool = False) -> "list[tuple[ApiKind, Raw]]":
    """Return what a worker gets, in the order in which it is made: the shipped roles and who has them.

    `with_pods` adds the role that lets nodes and pods be read for forecasts.
    """
    names = (*_SHIPPED, *(_FOR_PODS if with_pods else ()))
    texts = [(files("manager.onboarding") / name).read_text() for name in names]
    documents = [document for text in texts for document in yaml.safe_load_all(text)]
    found = [(_KINDS_ON_WORKER[document["kind"]], document) for document in documents]
    for _, document in found:
        document["metadata"]["labels"] = {**document["metadata"].get("labels", {}), **MADE_BY_US}
    return found


def worker_account() -> Key:
    """Return the service account that Turnstile uses on a worker."""
    (metadata,) = (document["metadata"] for kind, document in worker_objects() if kind == SERVICE_ACCOUNTS)
    return Key(metadata["namespace"], metadata["name"])


def worker_kubeconfig(name: str, access: ClusterAccess, server: str | None, token: ServiceToken) -> bytes:
    """Return a self-contained kubeconfig for the service account: nothing of the administrator's but the address."""
    cluster: Raw = {"server": server or access.server}
    if isinstance(access.ca, bytes):
        cluster["certificate-authority-data"] = base64.b64encode(access.ca).decode()
    if access.tls_server_name:
        cluster["tls-server-name"] = access.tls_server_name
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": "turnstile", "user": {"token": token.token}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": "turnstile"}}],
        "current-context": name,
    }
    return yaml.safe_dump(document, sort_keys=False).encode()


def secret(key: Key, kubeconfig: bytes, token: ServiceToken) -> "Raw":
    """Return the Secret of the hub that holds a worker's kubeconfig."""
    metadata = _metadata(key) | {"annotations": {TOKEN_EXPIRES: token.expires}}
    data = {KUBECONFIG_KEY: base64.b64encode(kubeconfig).decode()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque", "data": data}


def cluster(name: str) -> "Raw":
    """Return the MultiKueueCluster that names the Secret."""
    source = {"kubeConfig": {"locationType": "Secret", "location": name}}
    return {
        "apiVersion": KUEUE_API_VERSION,
        "kind": "MultiKueueCluster",
        "metadata": _metadata(Key("", name)),
        "spec": {"clusterSource": source},
    }


def config(name: str, worker: str) -> "Raw":
    """Return a MultiKueueConfig of one worker."""
    return {
        "apiVersion": KUEUE_API_VERSION,
        "kind": "MultiKueueConfig",
        "metadata": _metadata(Key("", name)),
        "spec": {"clusters": [worker]},
    }


def is_ours(stored: "Raw") -> bool:
    """Tell whether an object was made by `turnstile worker`."""
    return MADE_BY_US.items() <= (stored["metadata"].get("labels") or {}).items()


def refuse_foreign(kind: ApiKind, stored: "Raw", where: str) -> None:
    """Raise unless the object was made by `turnstile worker`, so that nothing of anybody else's is overwritten."""
    if not is_ours(stored):
        name = stored["metadata"]["name"]
        raise OnboardingError(
            f"{where} has a {kind.kind} {name} that `turnstile worker` did not make; delete it, or choose another name"
        )


def _metadata(key: Key) -> "Raw":
    named = {"name": key.name, "namespace": key.namespace} if key.namespace else {"name": key.name}
    return {**named, "labels": dict(MADE_BY_US)}
