"""Adding, removing and renewing a worker. Every step can be repeated: what is as it should be is left alone."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from config.kubeconfig.access import ClusterAccess
from config.kubeconfig.errors import KubeconfigError
from config.kubeconfig.parsing import parse_kubeconfig
from config.sections import Jobs, KubeconfigPolicy
from manager.kinds import CLUSTERS, CONFIGS, SECRETS, job_kinds
from manager.onboarding.changes import Changes
from manager.onboarding.errors import OnboardingError
from manager.onboarding.objects import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    cluster,
    config,
    is_ours,
    refuse_foreign,
    secret,
    worker_account,
    worker_kubeconfig,
    worker_objects,
)
from manager.permissions import complaint, needs_on_worker
from workerclient.cluster import ClusterClient, Surroundings
from workerclient.kind import Key
from workerclient.tokens import SERVICE_ACCOUNTS

if TYPE_CHECKING:
    from workerclient.codec import Raw


@dataclass(frozen=True, slots=True)
class Worker:
    """A cluster that is, or shall be, a worker, seen by its administrator."""

    name: str
    access: ClusterAccess
    server: str | None = None
    """The address under which the hub reaches it, when that is another one."""


@dataclass(frozen=True, slots=True)
class Onboarding:
    """The operations, on one hub."""

    hub: ClusterAccess
    namespace: str
    """Where the hub keeps the kubeconfigs."""
    surroundings: Surroundings
    tell: Callable[[str], None]
    is_rehearsal: bool = False

    async def add(self, worker: Worker, seconds: int, config_name: str | None, *, with_pods: bool = False) -> None:
        """Make a cluster a worker of the hub; `with_pods` whose nodes and pods may be read too."""
        with_hub, with_worker = self._on("hub", self.hub), self._on(worker.name, worker.access)
        try:
            await self._refuse_foreign(with_hub, worker.name)
            for kind, document in worker_objects(with_pods=with_pods):
                await with_worker.ensure(kind, document, shared=True)
            stored = await with_hub.find(SECRETS, self._secret_of(worker.name))
            if stored is None:
                await self._renew(with_hub, with_worker, worker, seconds)
            else:
                self.tell("hub: the kubeconfig is there already; `turnstile worker rotate` renews it")
            await with_hub.ensure(CLUSTERS, cluster(worker.name))
            if config_name is not None:
                await _join(with_hub, config_name, worker.name)
        finally:
            await with_hub.client.close()
            await with_worker.client.close()

    async def rotate(self, worker: Worker, seconds: int, *, revoke: bool) -> None:
        """Give the hub a new token; with `revoke` the old ones end at once."""
        with_hub, with_worker = self._on("hub", self.hub), self._on(worker.name, worker.access)
        try:
            key = self._secret_of(worker.name)
            stored = await with_hub.find(SECRETS, key)
            if stored is None:
                raise OnboardingError(f"the hub has no Secret {key}; `turnstile worker add {worker.name}` makes it")
            refuse_foreign(SECRETS, stored, "hub")
            if revoke:
                await self._replace_account(with_worker)
            await self._renew(with_hub, with_worker, worker, seconds)
        finally:
            await with_hub.client.close()
            await with_worker.client.close()

    async def remove(self, name: str, access: ClusterAccess | None) -> None:
        """Forget a worker; with access to it, also take away what Turnstile may do there."""
        with_hub = self._on("hub", self.hub)
        try:
            await _refuse_used(with_hub, name)
            await with_hub.remove(CLUSTERS, Key("", name))
            await with_hub.remove(SECRETS, self._secret_of(name))
        finally:
            await with_hub.client.close()
        if access is None:
            return
        with_worker = self._on(name, access)
        try:
            for kind, document in reversed(worker_objects(with_pods=await _has_pod_role(with_worker))):
                if kind in (CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, SERVICE_ACCOUNTS):
                    metadata = document["metadata"]
                    await with_worker.remove(kind, Key(metadata.get("namespace", ""), metadata["name"]))
        finally:
            await with_worker.client.close()

    def _on(self, name: str, access: ClusterAccess) -> Changes:
        return Changes(ClusterClient(name, access, self.surroundings), self.tell, self.is_rehearsal)

    def _secret_of(self, worker: str) -> Key:
        return Key(self.namespace, worker)

    async def _refuse_foreign(self, with_hub: Changes, name: str) -> None:
        """Look at the hub first, so that nothing is done on the worker for a name that is taken."""
        for kind, key in ((CLUSTERS, Key("", name)), (SECRETS, self._secret_of(name))):
            stored = await with_hub.find(kind, key)
            if stored is not None:
                refuse_foreign(kind, stored, "hub")

    async def _renew(self, with_hub: Changes, with_worker: Changes, worker: Worker, seconds: int) -> None:
        """Have a token made, see that it works, and put it into the Secret."""
        if self.is_rehearsal:
            self.tell(f"{worker.name}: would request a token for ServiceAccount {worker_account()}")
            self.tell(f"hub: would write Secret {self._secret_of(worker.name)}")
            return
        token = await with_worker.client.request_token(worker_account(), seconds)
        self.tell(f"{worker.name}: requested a token for ServiceAccount {worker_account()}, good until {token.expires}")
        kubeconfig = worker_kubeconfig(worker.name, worker.access, worker.server, token)
        await self._try(worker, kubeconfig)
        await with_hub.ensure(SECRETS, secret(self._secret_of(worker.name), kubeconfig, token))

    async def _try(self, worker: Worker, kubeconfig: bytes) -> None:
        """Use the kubeconfig from here, at the administrator's address, before the hub relies on it.

        What the roles lack is a warning only: not every hub takes every kind of job.
        """
        try:
            granted = parse_kubeconfig(kubeconfig, KubeconfigPolicy())
        except KubeconfigError as error:
            raise OnboardingError(f"the hub would refuse the kubeconfig: {error}") from error
        client = ClusterClient(
            worker.name,
            ClusterAccess(worker.access.server, granted.ca, granted.tls_server_name, token=granted.token),
            self.surroundings,
        )
        try:
            served = await client.served_kinds(need.kind for need in needs_on_worker(job_kinds(Jobs())))
            needs = [need for need in needs_on_worker(job_kinds(Jobs())) if served[need.kind]]
            if said := complaint(worker.name, await client.missing_permissions(needs)):
                self.tell(f"warning: {said}")
        finally:
            await client.close()

    async def _replace_account(self, with_worker: Changes) -> None:
        """Delete and create the service account: tokens belong to one incarnation of it."""
        (document,) = (document for kind, document in worker_objects() if kind == SERVICE_ACCOUNTS)
        await with_worker.remove(SERVICE_ACCOUNTS, worker_account())
        if not self.is_rehearsal:
            await with_worker.ensure(SERVICE_ACCOUNTS, document)


async def _has_pod_role(with_worker: Changes) -> bool:
    """Tell whether roles for forecasts were made here; those of somebody else's hand are left alone."""
    plain = [document for _, document in worker_objects()]
    for kind, document in worker_objects(with_pods=True):
        stored = None if document in plain else await with_worker.find(kind, Key("", document["metadata"]["name"]))
        if stored is not None and is_ours(stored):
            return True
    return False


async def _join(with_hub: Changes, config_name: str, worker: str) -> None:
    """Add a worker at the end of a MultiKueueConfig, or make one for it."""
    stored = await with_hub.find(CONFIGS, Key("", config_name))
    if stored is None:
        await with_hub.ensure(CONFIGS, config(config_name, worker))
        return
    members = _members(stored)
    if worker in members:
        with_hub.tell(f"hub: MultiKueueConfig {config_name} has {worker} already")
        return
    await with_hub.amend(CONFIGS, stored, "clusters", [*members, worker])


async def _refuse_used(with_hub: Changes, name: str) -> None:
    """Raise while a MultiKueueConfig names the worker: its queues would wait for a cluster that is not there."""
    async for page in with_hub.client.resource(CONFIGS).pages():
        for _, stored in page.items:
            if name in _members(stored):
                used = stored["metadata"]["name"]
                raise OnboardingError(f"MultiKueueConfig {used} names {name}; take it out of spec.clusters there first")


def _members(stored: "Raw") -> list[str]:
    return [str(member) for member in (stored.get("spec") or {}).get("clusters") or []]
