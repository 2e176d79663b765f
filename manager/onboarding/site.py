"""What the hub knows about a worker before anything is done: its Secret, and which cluster that leads to.

Invariant: a name never leads to another cluster unless the operator says so and no queue depends on it.
"""

import asyncio
from dataclasses import dataclass
from typing import Final

from config.api.meta import Obj, ObjectKey
from config.kubeconfig.access import ClusterAccess
from config.kubeconfig.credentials import token_subject
from config.kubeconfig.errors import KubeconfigError
from config.kubeconfig.sources import load_secret_kubeconfig
from config.names import KUBECONFIG_KEY
from config.sections.sections import KubeconfigPolicy
from manager.base.kinds import CLUSTERS, CONFIGS, NAMESPACES, SECRETS
from manager.onboarding.changes import ClusterChanges
from manager.onboarding.clusters import CLUSTER_UID, ClusterApi, Connections, identify, identity_if_reachable
from manager.onboarding.errors import OnboardingError, UnfitInputError
from manager.onboarding.objects import refuse_foreign
from workerclient.base.errors import Forbidden, NotFound, Unauthenticated

_ACCOUNTS: Final = "system:serviceaccount:"
_ASK_SECONDS: Final = 10.0
"""The hub's address of a worker need not be reachable from here."""


@dataclass(frozen=True, slots=True)
class Site:
    """One worker's place on the hub."""

    name: str
    hub_uid: str
    secret_key: ObjectKey
    secret: Obj | None
    access: ClusterAccess | None
    """What the Secret's kubeconfig grants; None if there is none that can be used."""
    cluster_uid: str
    """The cluster that the Secret leads to; empty if that is not known."""

    @property
    def account(self) -> ObjectKey | None:
        """Return the service account whose token the Secret holds, as far as the token shows."""
        subject = token_subject(self.access.token) if self.access is not None and self.access.token else ""
        namespace, _, name = subject.removeprefix(_ACCOUNTS).partition(":")
        return ObjectKey(namespace, name) if subject.startswith(_ACCOUNTS) and name else None


async def survey(with_hub: ClusterChanges, connections: Connections, name: str, namespace: str) -> Site:
    """Read the hub; raises `OnboardingError` if the name is taken by something that was not made here."""
    key = ObjectKey(namespace, name)
    for kind, taken in ((CLUSTERS, ObjectKey("", name)), (SECRETS, key)):
        stored = await with_hub.find(kind, taken)
        if stored is not None:
            refuse_foreign(kind, stored, "hub")
    secret = await with_hub.find(SECRETS, key)
    access = None if secret is None else _access(name, secret)
    uid = "" if secret is None else await _led_to(connections, name, secret, access)
    return Site(name, await identify(with_hub.client), key, secret, access, uid)


async def _led_to(connections: Connections, name: str, secret: Obj, access: ClusterAccess | None) -> str:
    """Return the cluster that a Secret leads to: by its kubeconfig, which the daemon uses, and else by its note."""
    if access is None:
        return noted_uid(secret)
    client = connections.as_granted(name, access)
    try:
        async with asyncio.timeout(_ASK_SECONDS):
            return await identity_if_reachable(client) or noted_uid(secret)
    except TimeoutError:
        return noted_uid(secret)
    finally:
        await client.close()


def noted_uid(secret: Obj) -> str:
    """Return the cluster that `add` or `rotate` noted on a Secret."""
    return str((secret["metadata"].get("annotations") or {}).get(CLUSTER_UID) or "")


def _access(name: str, secret: Obj) -> ClusterAccess | None:
    try:
        return load_secret_kubeconfig(name, secret.get("data") or {}, KUBECONFIG_KEY, KubeconfigPolicy())
    except KubeconfigError:
        return None


async def refuse_other_cluster(
    with_hub: ClusterChanges, site: Site, found_uid: str, offered: ClusterAccess, *, move: bool = False
) -> bool:
    """Raise if the offered kubeconfig leads to another cluster than the Secret's, or cannot be seen to lead there.

    With `move` that is allowed while no MultiKueueConfig names the worker. Returns whether it moves.
    """
    if site.secret is None or (site.cluster_uid and site.cluster_uid == found_uid):
        return False
    if not (site.cluster_uid and found_uid) and _is_same_place(site.access, offered):
        return False
    if move:
        await refuse_used(with_hub, site.name)
        return True
    if site.cluster_uid and found_uid:
        why = f"kube-system has the UID {found_uid} there and {site.cluster_uid} in {site.name}"
    else:
        why = "neither kube-system nor the address and authority show that it is the same"
    raise UnfitInputError(
        f"--worker-kubeconfig leads to another cluster than {site.name} ({why}); nothing was changed. "
        f"`worker add` and `worker rotate` take it with --move once no MultiKueueConfig names {site.name}"
    )


def _is_same_place(stored: ClusterAccess | None, offered: ClusterAccess) -> bool:
    """Return whether two kubeconfigs trust the same authority and name the same server."""
    return stored is not None and (stored.server, stored.ca) == (offered.server, offered.ca)


async def refuse_missing_namespace(with_hub: ClusterChanges, namespace: str) -> None:
    """Raise if the hub has no namespace for the Secret; one that this user may not read is taken to be there."""
    try:
        await with_hub.client.resource(NAMESPACES).get(ObjectKey("", namespace))
    except NotFound:
        raise OnboardingError(
            f"the hub has no namespace {namespace}, where Turnstile reads kubeconfigs; nothing was changed. "
            f"Install Turnstile first, or create it: kubectl create namespace {namespace}"
        ) from None
    except Forbidden:
        return


async def refuse_used(with_hub: ClusterChanges, name: str) -> None:
    """Raise while a MultiKueueConfig names the worker: its queues would wait for a cluster that is not there."""
    for stored in await with_hub.listed(CONFIGS):
        if name in members_of(stored):
            used = stored["metadata"]["name"]
            raise OnboardingError(f"MultiKueueConfig {used} names {name}; remove it from its spec.clusters first")


def members_of(config: Obj) -> list[str]:
    """Return the workers that a MultiKueueConfig names."""
    return [str(member) for member in (config.get("spec") or {}).get("clusters") or []]


async def other_names(with_hub: ClusterChanges, connections: Connections, site: Site, cluster_uid: str) -> list[str]:
    """Return the hub's other names for a cluster; they may use the same account there."""
    names = []
    for secret in await with_hub.listed(SECRETS, namespace=site.secret_key.namespace):
        name = str(secret["metadata"]["name"])
        access = _access(name, secret)
        if name == site.name or access is None:
            continue
        uid = noted_uid(secret) or await _led_to(connections, name, secret, access)
        is_same = uid == cluster_uid if uid and cluster_uid else _is_same_place(site.access, access)
        if is_same:
            names.append(name)
    return sorted(names)


async def is_dead(client: ClusterApi) -> bool:
    """Return whether a cluster refuses a token; raises `ClusterError` if that cannot be seen."""
    try:
        await identify(client)
    except Unauthenticated:
        return True
    except (Forbidden, NotFound):
        return False  # it knows whose token that is
    return False
