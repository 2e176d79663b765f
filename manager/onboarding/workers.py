"""Adding, removing and renewing a worker. Every step can be repeated: what is as it should be is left alone."""

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from config.api.meta import Obj, ObjectKey
from config.kubeconfig.access import ClusterAccess
from gates.diagnosis.identity import IS_HUB, is_same_cluster
from manager.base.kinds import CLUSTERS, CONFIGS, SECRETS
from manager.onboarding.accounts import Accounts
from manager.onboarding.changes import ClusterChanges
from manager.onboarding.clusters import Connections, OperatorApi, identity_if_readable
from manager.onboarding.departure import refuse_running
from manager.onboarding.errors import OnboardingError, UnfitInputError
from manager.onboarding.objects import OptionalRole, cluster, config, secret, worker_kubeconfig
from manager.onboarding.service import cordon, uncordon
from manager.onboarding.site import (
    Site,
    is_dead,
    members_of,
    noted_uid,
    other_names,
    refuse_missing_namespace,
    refuse_other_cluster,
    refuse_used,
    survey,
)
from workerclient.base.clock import Clock
from workerclient.base.errors import AlreadyExists, ClusterError, Conflict

_ATTEMPTS: Final = 5


@dataclass(frozen=True, slots=True)
class WorkerCluster:
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
    connections: Connections
    clock: Clock
    tell: Callable[[str], None]
    is_rehearsal: bool = False
    adopts: bool = False
    """Whether objects on the worker that others made under the shipped names are treated as made here."""

    async def add(
        self,
        worker: WorkerCluster,
        seconds: int,
        config_name: str | None,
        *,
        optional: Iterable[OptionalRole] = (),
        move: bool = False,
    ) -> None:
        """Make a cluster a worker of the hub, with these roles beside those that every worker gets."""
        async with self._hub() as with_hub, self._operating(worker.name, worker.access) as operator:
            there = self._changes_by(operator)
            site = await survey(with_hub, self.connections, worker.name, self.namespace)
            uid = await identity_if_readable(there.client)
            moves = await refuse_other_cluster(with_hub, site, uid, worker.access, move=move)
            if moves:
                self.tell(f"{worker.name}: moves to another cluster; its account stays on the former one")
            await self._refuse_hub(with_hub, site, uid)
            accounts = Accounts(site, there, operator, self.connections, self.clock)
            await accounts.make(optional)
            if site.secret is None or moves or await self._is_refused(site, worker):
                await self._renew(with_hub, accounts, worker, seconds, uid, move=move)
            else:
                self.tell("hub: the kubeconfig exists already; `turnstile worker rotate` renews it")
            await with_hub.ensure(CLUSTERS, cluster(worker.name))
            if config_name is not None:
                await _join(with_hub, config_name, worker.name)

    async def rotate(self, worker: WorkerCluster, seconds: int, *, revoke: bool, move: bool = False) -> None:
        """Give the hub a new token; with `revoke` the old ones end at once, which is seen by using the last one."""
        async with self._hub() as with_hub, self._operating(worker.name, worker.access) as operator:
            there = self._changes_by(operator)
            site = await survey(with_hub, self.connections, worker.name, self.namespace)
            if site.secret is None:
                raise UnfitInputError(no_secret(site.secret_key, worker.name))
            uid = await identity_if_readable(there.client)
            if (uid or revoke) and await refuse_other_cluster(with_hub, site, uid, worker.access, move=move) and revoke:
                raise OnboardingError("--revoke and --move exclude each other: tokens are revoked on the same cluster")
            accounts = Accounts(site, there, operator, self.connections, self.clock)
            old = site.access if revoke else None
            if revoke:
                if old is None or old.token is None:
                    raise OnboardingError(f"the kubeconfig of {worker.name} has no token that could be revoked")
                if others := await other_names(with_hub, self.connections, site, uid or site.cluster_uid):
                    raise OnboardingError(
                        f"{', '.join(others)} is the same cluster and uses the same account; remove that name first"
                    )
                await accounts.revoke()
            await self._renew(with_hub, accounts, worker, seconds, uid, move=move)
            if old is not None and not self.is_rehearsal:
                await accounts.prove_revoked(old, worker.access)

    async def remove(self, name: str, access: ClusterAccess | None, *, abandon: bool = False) -> None:
        """Remove a worker; with access to it, also revoke the hub's permissions there."""
        async with self._hub() as with_hub:
            await refuse_used(with_hub, name)
            site = await survey(with_hub, self.connections, name, self.namespace)
            if access is None and site.secret is None and await with_hub.find(CLUSTERS, ObjectKey("", name)) is None:
                raise UnfitInputError(f"the hub has no worker {name}; `turnstile worker list` names those it has")
            if access is not None:
                async with self._operating(name, access) as operator:
                    await self._remove_there(with_hub, operator, site, access, abandon=abandon)
            elif site.access is not None and not abandon:
                await self._refuse_running(site, site.access)
            await with_hub.remove(CLUSTERS, ObjectKey("", name))
            await with_hub.remove(SECRETS, site.secret_key)

    async def cordon(self, name: str) -> None:
        """Send nothing new to a worker."""
        async with self._hub() as with_hub:
            await cordon(with_hub, name)

    async def uncordon(self, name: str) -> None:
        """Use a worker again."""
        async with self._hub() as with_hub:
            await uncordon(with_hub, name)

    async def _remove_there(
        self, with_hub: ClusterChanges, operator: OperatorApi, site: Site, access: ClusterAccess, *, abandon: bool
    ) -> None:
        there = self._changes_by(operator)
        uid = await identity_if_readable(there.client)
        await refuse_other_cluster(with_hub, site, uid, access)
        if others := await other_names(with_hub, self.connections, site, uid or site.cluster_uid):
            self.tell(f"{site.name}: its account is left, because {', '.join(others)} is the same cluster")
            return
        if not abandon:
            await refuse_running(there, site)
        await Accounts(site, there, operator, self.connections, self.clock).remove()

    @asynccontextmanager
    async def _hub(self) -> AsyncIterator[ClusterChanges]:
        client = self.connections.as_operator("hub", self.hub)
        try:
            yield ClusterChanges(client, self.tell, self.is_rehearsal)
        finally:
            await client.close()

    @asynccontextmanager
    async def _operating(self, name: str, access: ClusterAccess) -> AsyncIterator[OperatorApi]:
        client = self.connections.as_operator(name, access)
        try:
            yield client
        finally:
            await client.close()

    def _changes_by(self, operator: OperatorApi) -> ClusterChanges:
        return ClusterChanges(operator, self.tell, self.is_rehearsal, self.adopts)

    async def _refuse_running(self, site: Site, stored: ClusterAccess) -> None:
        client = self.connections.as_granted(site.name, stored)
        try:
            await refuse_running(ClusterChanges(client, self.tell, self.is_rehearsal), site)
        finally:
            await client.close()

    async def _refuse_hub(self, with_hub: ClusterChanges, site: Site, uid: str) -> None:
        """Raise before anything is written if it cannot work on this hub; warn of what the daemon will refuse."""
        if uid and uid == site.hub_uid:
            raise UnfitInputError(f"{site.name} {IS_HUB}; nothing was changed. Name another cluster")
        await refuse_missing_namespace(with_hub, self.namespace)
        for other in await other_names(with_hub, self.connections, site, uid):
            self.tell(
                f"warning: {site.name} {is_same_cluster(other)}; unless this renames it, undo it with "
                f"`turnstile worker remove {site.name}`"
            )

    async def _is_refused(self, site: Site, worker: WorkerCluster) -> bool:
        """Return whether the stored token is dead, as one is whose revocation was cut short."""
        if site.access is None or site.access.token is None:
            return True
        stored = site.access
        at = ClusterAccess(worker.access.server, stored.ca, stored.tls_server_name, token=stored.token)
        client = self.connections.as_granted(worker.name, at)
        try:
            if await is_dead(client):
                self.tell(f"{worker.name}: refuses the stored token; requesting a new one")
                return True
        except ClusterError as error:
            self.tell(f"warning: the stored kubeconfig does not work: {error}")
        finally:
            await client.close()
        return False

    async def _renew(
        self,
        with_hub: ClusterChanges,
        accounts: Accounts,
        worker: WorkerCluster,
        seconds: int,
        found_uid: str,
        *,
        move: bool,
    ) -> None:
        """Have a token made, see that it works and where, and put it into the Secret."""
        site = accounts.site
        if self.is_rehearsal:
            self.tell(f"{worker.name}: would request a token for ServiceAccount {accounts.key}")
            self.tell(f"hub: would write Secret {site.secret_key}")
            return
        token = await accounts.token(seconds)
        kubeconfig = worker_kubeconfig(worker.name, worker.access, worker.server, token)
        uid = await accounts.check(kubeconfig, worker.access) or found_uid
        await refuse_other_cluster(with_hub, site, uid, worker.access, move=move)
        await _store(with_hub, site, secret(site.secret_key, kubeconfig, token, uid))


def no_secret(key: ObjectKey, worker: str) -> str:
    """Say that a worker was never added."""
    return f"the hub has no Secret {key}; create it with `turnstile worker add {worker}`"


async def _store(with_hub: ClusterChanges, site: Site, wanted: Obj) -> None:
    """Write the Secret over the version that was read, and over no other."""
    try:
        if site.secret is not None:
            await with_hub.replace(SECRETS, site.secret, wanted)
        else:
            await with_hub.create(SECRETS, wanted)
    except Conflict as error:
        message = f"Secret {site.secret_key} was changed meanwhile; run the command again"
        raise OnboardingError(message) from error
    except AlreadyExists:
        stored = await with_hub.find(SECRETS, site.secret_key)
        if stored is None or noted_uid(stored) != noted_uid(wanted):
            message = f"{site.name} was added meanwhile as another cluster; remove it, or choose another name"
            raise OnboardingError(message) from None
        with_hub.tell(f"hub: Secret {site.secret_key} was made meanwhile for the same cluster: left")


async def _join(with_hub: ClusterChanges, config_name: str, worker: str) -> None:
    """Add a worker at the end of a MultiKueueConfig, or make one for it."""
    for _ in range(_ATTEMPTS):
        stored = await with_hub.find(CONFIGS, ObjectKey("", config_name))
        members = members_of(stored) if stored is not None else []
        if worker in members:
            with_hub.tell(f"hub: MultiKueueConfig {config_name} has {worker} already")
            return
        try:
            if stored is None:
                await with_hub.create(CONFIGS, config(config_name, worker))
            else:
                await with_hub.amend(CONFIGS, stored, "clusters", [*members, worker])
        except (AlreadyExists, Conflict):
            continue  # another worker joined it meanwhile
        return
    raise OnboardingError(f"MultiKueueConfig {config_name} is being changed by another client; try again")
