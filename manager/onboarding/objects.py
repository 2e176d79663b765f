"""The objects that make a cluster a worker: roles over there, a Secret and a MultiKueueCluster on the hub.

On the worker the roles are shared by all hubs; the account and what binds it to the roles belong to one hub.
"""

import base64
from collections.abc import Iterable
from enum import StrEnum
from importlib.resources import files
from typing import Final

import yaml

from config.api.meta import Obj, ObjectKey
from config.kubeconfig.access import ClusterAccess
from config.names import DOMAIN, KUBECONFIG_KEY, KUEUE_API_VERSION
from gates.model.marks import HUB
from manager.base.kinds import NAMESPACES
from manager.onboarding.clusters import CLUSTER_UID
from manager.onboarding.errors import OnboardingError
from workerclient.base.kind import ApiKind
from workerclient.operator.tokens import ServiceToken

MADE_BY_US: Final = {"app.kubernetes.io/managed-by": "turnstile-worker"}
"""Marks what may be changed and deleted again. Nothing else is."""
TOKEN_EXPIRES: Final = f"{DOMAIN}/token-expires"

_SHIPPED: Final = ("worker.yaml", "worker-forecasts.yaml", "worker-kueue.yaml")
_RBAC: Final = "rbac.authorization.k8s.io"
_LENGTH_IN_NAMES: Final = 8
SERVICE_ACCOUNTS: Final = ApiKind("", "v1", "ServiceAccount", "serviceaccounts")
CLUSTER_ROLES: Final = ApiKind(_RBAC, "v1", "ClusterRole", "clusterroles", namespaced=False)
CLUSTER_ROLE_BINDINGS: Final = ApiKind(_RBAC, "v1", "ClusterRoleBinding", "clusterrolebindings", namespaced=False)
_KINDS_ON_WORKER: Final = {
    kind.kind: kind for kind in (NAMESPACES, SERVICE_ACCOUNTS, CLUSTER_ROLES, CLUSTER_ROLE_BINDINGS)
}
SHARED_KINDS: Final = (NAMESPACES, CLUSTER_ROLES)
"""What all hubs of a worker use together."""


class OptionalRole(StrEnum):
    """Manifests of roles that a worker gets only where they are asked for."""

    POD_FORECASTS = "worker-pod-forecasts.yaml"
    TOPOLOGY = "worker-topology.yaml"


def shipped_objects(optional: Iterable[OptionalRole] = ()) -> "list[tuple[ApiKind, Obj]]":
    """Return the shipped manifests of a worker; earlier versions applied them as they are, for all hubs alike."""
    names = (*_SHIPPED, *optional)
    texts = [(files("manager.onboarding") / name).read_text() for name in names]
    documents = [document for text in texts for document in yaml.safe_load_all(text)]
    return [(_KINDS_ON_WORKER[document["kind"]], document) for document in documents]


def worker_objects(hub_uid: str, optional: Iterable[OptionalRole] = ()) -> "list[tuple[ApiKind, Obj]]":
    """Return what a worker gets for one hub, in the order in which it is made: the shipped roles and who has them."""
    found = shipped_objects(optional)
    for kind, document in found:
        metadata = document["metadata"]
        metadata["labels"] = {**metadata.get("labels", {}), **MADE_BY_US}
        if kind not in SHARED_KINDS:
            metadata["name"] = _of_hub(metadata["name"], hub_uid)
            metadata["annotations"] = {**metadata.get("annotations", {}), HUB: hub_uid}
        for subject in document.get("subjects", ()):
            subject["name"] = _of_hub(subject["name"], hub_uid)
    return found


def account_of(hub_uid: str) -> ObjectKey:
    """Return the service account that one hub uses on its workers."""
    shared = shared_account()
    return ObjectKey(shared.namespace, _of_hub(shared.name, hub_uid))


def shared_account() -> ObjectKey:
    """Return the service account that all hubs of a worker used before each had its own."""
    (metadata,) = (document["metadata"] for kind, document in shipped_objects() if kind == SERVICE_ACCOUNTS)
    return ObjectKey(metadata["namespace"], metadata["name"])


def _of_hub(name: str, hub_uid: str) -> str:
    return f"{name}-{hub_uid[:_LENGTH_IN_NAMES]}"


def worker_kubeconfig(name: str, access: ClusterAccess, server: str | None, token: ServiceToken) -> bytes:
    """Return a self-contained kubeconfig for the service account: nothing of the administrator's but the address."""
    cluster: Obj = {"server": server or access.server}
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


def secret(key: ObjectKey, kubeconfig: bytes, token: ServiceToken, cluster_uid: str) -> Obj:
    """Return the Secret of the hub that holds a worker's kubeconfig."""
    annotations = {TOKEN_EXPIRES: token.expires, **({CLUSTER_UID: cluster_uid} if cluster_uid else {})}
    metadata = _metadata(key) | {"annotations": annotations}
    data = {KUBECONFIG_KEY: base64.b64encode(kubeconfig).decode()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque", "data": data}


def cluster(name: str) -> Obj:
    """Return the MultiKueueCluster that names the Secret."""
    source = {"kubeConfig": {"locationType": "Secret", "location": name}}
    return {
        "apiVersion": KUEUE_API_VERSION,
        "kind": "MultiKueueCluster",
        "metadata": _metadata(ObjectKey("", name)),
        "spec": {"clusterSource": source},
    }


def config(name: str, worker: str) -> Obj:
    """Return a MultiKueueConfig of one worker."""
    return {
        "apiVersion": KUEUE_API_VERSION,
        "kind": "MultiKueueConfig",
        "metadata": _metadata(ObjectKey("", name)),
        "spec": {"clusters": [worker]},
    }


def is_ours(stored: Obj) -> bool:
    """Return whether an object was made by `turnstile worker`."""
    return MADE_BY_US.items() <= (stored["metadata"].get("labels") or {}).items()


def refuse_foreign(kind: ApiKind, stored: Obj, where: str) -> None:
    """Raise unless the object was made by `turnstile worker`, so that no foreign object is overwritten."""
    if not is_ours(stored):
        name = stored["metadata"]["name"]
        raise OnboardingError(
            f"{where} has a {kind.kind} {name} that `turnstile worker` did not create; "
            "delete it, or choose another name"
        )


def _metadata(key: ObjectKey) -> Obj:
    named = {"name": key.name, "namespace": key.namespace} if key.namespace else {"name": key.name}
    return {**named, "labels": dict(MADE_BY_US)}
