"""The account that a hub uses on a worker: made, given a token, its old tokens ended."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from config.api.meta import ObjectKey
from config.kubeconfig.access import ClusterAccess
from config.kubeconfig.errors import KubeconfigError
from config.kubeconfig.parsing import parse_kubeconfig
from config.sections.sections import JobsSection, KubeconfigPolicy
from manager.base.kinds import job_kinds
from manager.clusters.permissions import complaint, needs_of_identity, needs_on_worker
from manager.onboarding.changes import ClusterChanges, key_of
from manager.onboarding.clusters import Connections, OperatorApi, identity_if_readable
from manager.onboarding.errors import OnboardingError
from manager.onboarding.objects import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    SERVICE_ACCOUNTS,
    SHARED_KINDS,
    OptionalRole,
    account_of,
    is_ours,
    shared_account,
    shipped_objects,
    worker_objects,
)
from manager.onboarding.site import Site, is_dead
from workerclient.base.clock import Clock
from workerclient.base.errors import ClusterError, Forbidden, NotFound
from workerclient.operator.tokens import ServiceToken

_ASK_AGAIN_SECONDS: Final = 2.0
_LONGEST_SECONDS: Final = 60.0
"""How long an API server may remember that a token was good."""


@dataclass(frozen=True, slots=True)
class Accounts:
    """The account of one hub on one worker."""

    site: Site
    there: ClusterChanges
    operator: OperatorApi
    """The same cluster as `there`."""
    connections: Connections
    clock: Clock

    @property
    def key(self) -> ObjectKey:
        """Return the account."""
        return account_of(self.site.hub_uid)

    async def make(self, optional: Iterable[OptionalRole]) -> None:
        """Make the account, the roles and what binds them."""
        for kind, document in worker_objects(self.site.hub_uid, optional):
            await self.there.ensure(kind, document, shared=kind in SHARED_KINDS)

    async def token(self, seconds: int) -> ServiceToken:
        """Have a token made; an account that is not there yet is made first, if that is allowed."""
        key = self.key
        try:
            token = await self.operator.request_token(key, seconds)
        except NotFound:
            await self.make(await self._optional_roles())
            token = await self.operator.request_token(key, seconds)
        except Forbidden:
            if self.site.account != shared_account():
                raise
            key = shared_account()
            self.there.tell(f"{self.site.name}: cannot create a separate account for this hub; {key} stays in use")
            token = await self.operator.request_token(key, seconds)
        self.there.tell(f"{self.site.name}: requested a token for ServiceAccount {key}, valid until {token.expires}")
        if self.site.account == shared_account() != key:
            self.there.tell(
                f"{self.site.name}: ServiceAccount {shared_account()} is no longer used by this hub; "
                "delete it once no other hub uses it"
            )
        return token

    async def revoke(self) -> None:
        """Delete the account and make it again: tokens belong to one incarnation of it."""
        if self.site.account == shared_account():
            await self.remove_shared("its token ends with it")
        await self.there.remove(SERVICE_ACCOUNTS, self.key)
        if not self.there.is_rehearsal:
            await self.make(await self._optional_roles())

    async def remove(self) -> None:
        """Delete the account and what binds it, and the roles that nothing is bound to any more."""
        uid = self.site.hub_uid
        for kind, document in reversed(worker_objects(uid, OptionalRole)):
            if kind not in SHARED_KINDS and await self.there.find(kind, key_of(document)) is not None:
                await self.there.remove(kind, key_of(document))
        if self.site.account == shared_account():
            if self.there.adopts:
                await self.remove_shared("the hub has no other account there")
            else:
                self.there.tell(
                    f"{self.site.name}: ServiceAccount {shared_account()} of an earlier version is left, because "
                    "another hub may use it; --adopt deletes it"
                )
        await self._remove_unbound_roles()

    async def remove_shared(self, why: str) -> None:
        """Delete the account that all hubs used, which cuts off those that still do."""
        if not self.there.adopts:
            raise OnboardingError(
                f"the token of {self.site.name} is one of ServiceAccount {shared_account()}, which other hubs may use "
                f"or kubectl made; --adopt deletes it anyway ({why})"
            )
        for kind, document in reversed(shipped_objects(OptionalRole)):
            if kind not in SHARED_KINDS and await self.there.find(kind, key_of(document)) is not None:
                await self.there.remove(kind, key_of(document))

    async def _remove_unbound_roles(self) -> None:
        bindings = await self.there.listed(CLUSTER_ROLE_BINDINGS)
        leaving = {key_of(document) for kind, document in worker_objects(self.site.hub_uid, OptionalRole)}
        kept = [each for each in bindings if not (self.there.is_rehearsal and key_of(each) in leaving)]
        bound = {str((each.get("roleRef") or {}).get("name")) for each in kept}
        for kind, document in shipped_objects(OptionalRole):
            key = key_of(document)
            stored = await self.there.find(kind, key) if kind == CLUSTER_ROLES else None
            if stored is None:
                continue
            if key.name in bound:
                self.there.tell(f"{self.site.name}: ClusterRole {key} is still bound: left")
            elif is_ours(stored) or self.there.adopts:
                await self.there.remove(kind, key)

    async def _optional_roles(self) -> list[OptionalRole]:
        """Return the optional roles that were made here."""
        plain = [key_of(document) for _, document in shipped_objects()]
        found = []
        for role in OptionalRole:
            for kind, document in shipped_objects((role,)):
                if kind == CLUSTER_ROLES and key_of(document) not in plain:
                    stored = await self.there.find(kind, key_of(document))
                    found += [role] if stored is not None and is_ours(stored) else []
        return found

    async def check(self, kubeconfig: bytes, offered: ClusterAccess) -> str:
        """Use a new kubeconfig from here, at the administrator's address, and return which cluster it leads to.

        What the roles lack is a warning only: not every hub takes every kind of job.
        """
        try:
            granted = parse_kubeconfig(kubeconfig, KubeconfigPolicy())
        except KubeconfigError as error:
            raise OnboardingError(f"the hub would refuse the kubeconfig: {error}") from error
        client = self.connections.as_granted(self.site.name, _at(offered, granted))
        try:
            needs = (*needs_of_identity(), *needs_on_worker(job_kinds(JobsSection())))
            served = await client.served_kinds(need.kind for need in needs)
            if said := complaint(
                self.site.name, await client.missing_permissions([need for need in needs if served[need.kind]])
            ):
                self.there.tell(f"warning: {said}")
            return await identity_if_readable(client)
        finally:
            await client.close()

    async def prove_revoked(self, old: ClusterAccess, offered: ClusterAccess) -> None:
        """Use the old token until the cluster refuses it; raises `OnboardingError` if it does not."""
        client = self.connections.as_granted(self.site.name, _at(offered, old))
        deadline = self.clock.monotonic() + _LONGEST_SECONDS
        again = f"; repeat with --revoke, and see the API server of {self.site.name} if that does not help"
        try:
            while not await is_dead(client):
                if self.clock.monotonic() >= deadline:
                    raise OnboardingError(f"the old token of {self.site.name} is still accepted{again}")
                await self.clock.sleep(_ASK_AGAIN_SECONDS)
        except ClusterError as error:
            raise OnboardingError(f"cannot verify that the old token is refused: {error}{again}") from error
        finally:
            await client.close()
        self.there.tell(f"{self.site.name}: the old token is refused")


def _at(offered: ClusterAccess, granted: ClusterAccess) -> ClusterAccess:
    """Return the hub's identity at the administrator's address, which need not be the one that the hub uses."""
    return ClusterAccess(offered.server, granted.ca, granted.tls_server_name, token=granted.token)
