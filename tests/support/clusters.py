"""Clients of local clusters: what integration tests have in common."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from config.api.meta import Obj, ObjectKey
from config.kubeconfig.access import ClusterAccess
from config.kubeconfig.sources import load_worker_kubeconfig
from config.sections.sections import KubeconfigPolicy
from localcluster.cluster import LocalCluster
from tests.support.virtual_time import VirtualClock, until
from workerclient.base.kind import ApiKind
from workerclient.cluster import ClientContext, ClientLimits, ClusterClient, WatchedResource
from workerclient.objects.connection_report import ConnectionReport, ConnectionState
from workerclient.objects.watched import WatchedKind

Value = TypeVar("Value")

CONFIG_MAPS = ApiKind("", "v1", "ConfigMap", "configmaps")
WORKLOADS = ApiKind("kueue.x-k8s.io", "v1beta2", "Workload", "workloads")
JOB_SETS = ApiKind("jobset.x-k8s.io", "v1alpha2", "JobSet", "jobsets")


def no_jitter() -> float:
    """Make every random delay nothing."""
    return 0.0


def full_jitter() -> float:
    """Make every random delay as long as it can be."""
    return 1.0


def access_to(cluster: LocalCluster) -> ClusterAccess:
    """Load the cluster's own kubeconfig, as an operator would hand it over."""
    policy = KubeconfigPolicy(allowed_directories=(cluster.kubeconfig_path.parent,))
    return load_worker_kubeconfig(cluster.kubeconfig_path, policy)


def config_map(name: str, namespace: str = "default", labels: dict[str, str] | None = None, **data: str) -> Obj:
    """Return the simplest object that every cluster serves."""
    metadata: Obj = {"name": name, "namespace": namespace, "labels": labels or {}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def data_of(raw: Obj) -> Obj:
    """Keep a ConfigMap's data only."""
    data = raw.get("data") or {}
    if not isinstance(data, dict) or "unreadable" in data:
        raise ValueError("data.unreadable is not allowed")
    return data


@dataclass
class Story(Generic[Value]):
    """A client with one followed kind, and what it told."""

    client: ClusterClient
    clock: VirtualClock
    followed: WatchedResource[Value]
    changes: list[ObjectKey]
    reports: list[ConnectionReport]
    histories: list[ApiKind] = field(default_factory=list)

    @property
    def connection(self) -> ConnectionState:
        """Return whether the cluster is there."""
        return self.client.report.connection

    async def connected(self) -> None:
        """Wait until the cluster is there and its cache complete."""
        await until(lambda: self.connection is ConnectionState.CONNECTED and self.followed.cache.synced)

    async def lost(self) -> None:
        """Wait until the cluster is lost."""
        await until(lambda: self.connection is ConnectionState.LOST)


@dataclass(frozen=True)
class Setting:
    """How a story is set."""

    kind: ApiKind = CONFIG_MAPS
    project: Callable[[Obj], Obj] = data_of
    label_selector: str = ""
    limits: ClientLimits = field(default_factory=ClientLimits)
    jitter: Callable[[], float] = no_jitter
    others: tuple[WatchedKind[Obj], ...] = ()


def told_to(setting: Setting, access: ClusterAccess, name: str = "w1") -> Story[Obj]:
    """Return a client that is not running yet."""
    clock = VirtualClock()
    changes: list[ObjectKey] = []
    reports: list[ConnectionReport] = []
    histories: list[ApiKind] = []
    client_context = ClientContext(clock, setting.jitter)
    client = ClusterClient(name, access, client_context, setting.limits, reports.append, histories.append)
    watched = WatchedKind(
        setting.kind, setting.project, label_selector=setting.label_selector, on_change=changes.append
    )
    followed = client.follow(watched)
    for other in setting.others:
        client.follow(other)
    return Story(client, clock, followed, changes, reports, histories)


@asynccontextmanager
async def following(cluster: LocalCluster, setting: Setting | None = None) -> AsyncIterator[Story[Obj]]:
    """Follow a kind on a cluster and wait until it is there."""
    story = told_to(setting or Setting(), access_to(cluster), cluster.name)
    async with story.client.running():
        await story.connected()
        story.changes.clear()
        yield story


def workload(name: str, namespace: str = "default") -> Obj:
    """Return a Workload that Kueue's schema accepts."""
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    template = {"spec": {"containers": [container], "restartPolicy": "Never"}}
    return {
        "apiVersion": WORKLOADS.api_version,
        "kind": "Workload",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"queueName": "main", "podSets": [{"name": "main", "count": 1, "template": template}]},
    }


def someone_creates(cluster: LocalCluster, document: Obj) -> None:
    """Let another client create a ConfigMap."""
    cluster.store.create(cluster.store.kind("configmaps"), document, document["metadata"]["namespace"])


def someone_changes(cluster: LocalCluster, name: str, change: Callable[[Obj], object]) -> None:
    """Let another client change a ConfigMap."""

    def changed(stored: Obj) -> Obj:
        copy = deepcopy(stored)
        change(copy)
        return copy

    cluster.store.patch(cluster.store.kind("configmaps"), name, changed, "default")


def someone_deletes(cluster: LocalCluster, name: str) -> None:
    """Let another client delete a ConfigMap."""
    cluster.store.delete(cluster.store.kind("configmaps"), name, "default")
