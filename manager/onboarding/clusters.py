"""What onboarding asks of a cluster, and how it tells one cluster from another."""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from config.api.meta import Obj, ObjectKey
from config.kubeconfig.access import ClusterAccess
from config.names import DOMAIN
from manager.base.kinds import NAMESPACES
from manager.clusters.cluster_identity import SYSTEM_NAMESPACE, uid_of
from workerclient.base.errors import ClusterError, Forbidden, NotFound
from workerclient.base.kind import ApiKind
from workerclient.objects.resource import Precondition
from workerclient.operator.tokens import ServiceToken
from workerclient.questions.preflight import Missing, Need

if TYPE_CHECKING:
    from workerclient.wire.codec import ListChunk

CLUSTER_UID: Final = f"{DOMAIN}/cluster-uid"
"""On a worker's Secret: the UID of the worker's namespace kube-system."""


class KindApi(Protocol):
    """The objects of one kind."""

    async def get(self, key: ObjectKey) -> Obj: ...
    async def create(self, document: Obj) -> Obj: ...
    async def replace(self, document: Obj) -> Obj: ...
    async def merge_patch(self, key: ObjectKey, patch: Mapping[str, Any], precondition: Precondition) -> Obj: ...
    async def delete(self, key: ObjectKey, precondition: Precondition) -> None: ...
    def pages(self, *, label_selector: str = "", namespace: str = "") -> "AsyncIterator[ListChunk]": ...


class ClusterApi(Protocol):
    """One cluster, seen by one user."""

    name: str

    def resource(self, kind: ApiKind) -> KindApi: ...
    async def served_kinds(self, kinds: Iterable[ApiKind]) -> Mapping[ApiKind, bool]: ...
    async def close(self) -> None: ...


class OperatorApi(ClusterApi, Protocol):
    """One cluster, seen by the operator who runs the command."""

    async def request_token(self, account: ObjectKey, seconds: int) -> ServiceToken: ...


class GrantedApi(ClusterApi, Protocol):
    """One cluster, seen with a kubeconfig that the hub holds or gets."""

    async def missing_permissions(self, needs: Iterable[Need]) -> list[Missing]: ...


@dataclass(frozen=True, slots=True)
class Connections:
    """How clusters are reached, by a name and an access."""

    as_operator: Callable[[str, ClusterAccess], OperatorApi]
    """With what the operator's own kubeconfig grants."""
    as_granted: Callable[[str, ClusterAccess], GrantedApi]
    """With a kubeconfig of a Secret, which is not trusted."""


async def identify(cluster: ClusterApi) -> str:
    """Return the identity of a cluster; raises `ClusterError`."""
    return uid_of(cluster.name, await cluster.resource(NAMESPACES).get(SYSTEM_NAMESPACE))


async def identity_if_readable(cluster: ClusterApi) -> str:
    """Return the identity of a cluster, nothing if this user may not read it."""
    try:
        return await identify(cluster)
    except (Forbidden, NotFound):
        return ""


async def identity_if_reachable(cluster: ClusterApi) -> str:
    """Return the identity of a cluster, nothing if it does not answer this user."""
    try:
        return await identify(cluster)
    except ClusterError:
        return ""
