"""The stage: clusters, their Kueues, and the daemon, all in this process and talking HTTPS to each other."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from config.api.meta import Obj, conditions, is_true
from config.kubeconfig.sources import load_hub_kubeconfig
from config.names import CONFIG_API_VERSION, CONFIG_KIND, KUEUE_GROUP
from config.sections.settings import Configuration
from manager.app.daemon import Daemon, identify
from manager.app.listeners import Observers
from manager.app.service import journal_of, journaled
from manager.base.clock import SystemClock
from manager.demo import cast
from manager.demo.clusters import (
    CURRENT,
    KEP_8303,
    ApiError,
    Change,
    ChangeType,
    KueueProfile,
    LocalCluster,
    LocalFleet,
    Member,
)
from manager.demo.sightings import ClusterSighting, Seen, seen_on_hub, seen_on_worker
from manager.planning.errors import PlanError
from manager.planning.planner import Planner
from manager.serving.socket_server import serve_api
from workerclient.cluster import ClientContext

JOURNAL: Final = "journal.db"
SOCKET: Final = "api.sock"
"""Where the daemon answers `turnstile status` and its like, in the demo's directory."""
WITH_GATES: Final = (KEP_8303, CURRENT, CURRENT)
"""The first worker speaks the KEP's dialect, the others Kueue v0.19.1's."""
_PATIENCE_SECONDS: Final = 90.0
_KINDS: Final = (("workloads", KUEUE_GROUP), ("jobs", "batch"))
_READINESS_KINDS: Final = ("multikueueclusters", "clusterqueues")


class StuckError(Exception):
    """The story does not go on; the message says what was waited for."""


class Stage:
    """Hub and workers, and everything that was seen on them."""

    def __init__(
        self,
        fleet: LocalFleet,
        profiles: Sequence[KueueProfile],
        planner: Planner,
        on_seen: Callable[[ClusterSighting], None],
    ) -> None:
        self._fleet = fleet
        self._planner = planner
        self._on_seen = on_seen
        self._changed = asyncio.Event()
        self._jobs_of: dict[str, str] = {}
        self.sightings: list[ClusterSighting] = []
        self.gate_fields = {
            worker.name: profile.dialect.state_field for worker, profile in zip(fleet.workers, profiles, strict=True)
        }
        for cluster in self.clusters:
            for plural, group in _KINDS:
                kind = cluster.store.kind(plural, group)
                cluster.store.subscribe(kind, self._listener(cluster.name, kind.kind))
        for plural in _READINESS_KINDS:
            fleet.hub.store.subscribe(fleet.hub.store.kind(plural, KUEUE_GROUP), lambda _: self._changed.set())

    @property
    def clusters(self) -> list[LocalCluster]:
        """Return the hub and the workers."""
        return [self._fleet.hub, *self._fleet.workers]

    @property
    def workers(self) -> list[LocalCluster]:
        """Return the workers."""
        return self._fleet.workers

    def is_ready(self) -> bool:
        """Return whether the hub says that its queue and all workers can be used."""
        objects = [obj for plural in _READINESS_KINDS for obj in self._objects(cast.HUB, plural, KUEUE_GROUP)]
        return all(is_true(conditions(obj), "Active") for obj in objects)

    def workloads(self, cluster: str) -> Iterable[Obj]:
        """Yield a cluster's Workloads as they are now."""
        return self._objects(cluster, *_KINDS[0])

    def jobs(self, cluster: str) -> Iterable[Obj]:
        """Yield a cluster's Jobs as they are now."""
        return self._objects(cluster, *_KINDS[1])

    def job_of(self, workload: Obj) -> str:
        """Return the job that a Workload stands for, or its own name if there is none."""
        name: str = workload["metadata"]["name"]
        return self._jobs_of.get(name, name)

    def create(self, cluster: str, obj: Obj) -> None:
        """Create a Job or a Workload, as a user would."""
        store = self._fleet.clusters[cluster].store
        plural, group = _KINDS[0] if obj["kind"] == "Workload" else _KINDS[1]
        try:
            store.create(store.kind(plural, group), obj, cast.NAMESPACE)
        except ApiError as error:
            raise StuckError(f"{cluster}: {error.message}") from error

    async def plan(self, job: Obj) -> Obj:
        """Ask the daemon what would become of a job, as `turnstile plan` does."""
        try:
            return await self._planner.plan(job, cast.NAMESPACE, None)
        except PlanError as error:
            raise StuckError(f"the forecast: {error}") from error

    def annotate_job(self, cluster: str, name: str, annotation: str, value: str) -> None:
        """Set an annotation of a Job, as `kubectl annotate` would."""

        def annotated(job: Obj) -> Obj:
            metadata = job["metadata"]
            annotations = {**(metadata.get("annotations") or {}), annotation: value}
            return {**job, "metadata": {**metadata, "annotations": annotations}}

        store = self._fleet.clusters[cluster].store
        store.patch(store.kind("jobs", "batch"), name, annotated, cast.NAMESPACE)

    async def until(self, condition: Callable[[], object], what: str) -> None:
        """Wait until the clusters show something; far longer than it should take, but not for ever."""
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                while not condition():
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise StuckError(f"{what}: not seen within {_PATIENCE_SECONDS:.0f} s") from None

    def _objects(self, cluster: str, plural: str, group: str) -> Iterable[Obj]:
        store = self._fleet.clusters[cluster].store
        return [version.obj for version in store.collection(store.kind(plural, group)).scan()]

    def _listener(self, cluster: str, kind: str) -> Callable[[Change], None]:
        sightings_of = seen_on_hub if cluster == cast.HUB else seen_on_worker

        def note(change: Change) -> None:
            new = None if change.type is ChangeType.DELETED else change.new.obj
            old = None if change.old is None else change.old.obj
            name = self._name(kind, change.new.obj)
            for seen in sightings_of(kind, old, new):
                self._note(cluster, name, seen)
            self._changed.set()

        return note

    def _note(self, cluster: str, job: str, seen: Seen) -> None:
        sighting = ClusterSighting(time.time_ns(), cluster, seen.what, job, seen.detail, seen.since_ns)
        self.sightings.append(sighting)
        self._on_seen(sighting)

    def _name(self, kind: str, obj: Obj) -> str:
        if kind == "Job":
            return str(obj["metadata"]["name"])
        for owner in obj["metadata"].get("ownerReferences") or ():
            self._jobs_of[obj["metadata"]["name"]] = owner["name"]
        return self.job_of(obj)


@asynccontextmanager
async def set_stage(
    directory: Path, profiles: Sequence[KueueProfile], on_seen: Callable[[ClusterSighting], None]
) -> AsyncIterator[Stage]:
    """Start clusters and a daemon, and wait until the hub says that the daemon is connected to all of them."""
    members = [
        Member(name, str(cast.WORKER_CPUS), profile) for name, profile in zip(cast.WORKERS, profiles, strict=True)
    ]
    async with (
        LocalFleet(Member(cast.HUB, str(cast.HUB_CPUS)), members, directory) as fleet,
        _daemon(fleet, directory) as daemon,
    ):
        stage = Stage(fleet, profiles, daemon.inspector.planner, on_seen)
        async with asyncio.TaskGroup() as group:
            running = [
                group.create_task(daemon.run()),
                group.create_task(serve_api(directory / SOCKET, daemon.inspector)),
            ]
            await stage.until(stage.is_ready, "the hub's queue and its three workers are active")
            yield stage
            for task in running:
                task.cancel()


@asynccontextmanager
async def _daemon(fleet: LocalFleet, directory: Path) -> AsyncIterator[Daemon]:
    """Make a daemon that keeps a journal, for `turnstile timeline` and the page."""
    document: Obj = {
        "api_version": CONFIG_API_VERSION,
        "kind": CONFIG_KIND,
        "gates": {"single_cluster_preemption_timeout": f"{cast.TIMEOUT_SECONDS}s"},
        "jobs": {"integrations": ["batch/job"]},
        # The last act shows what happens without gates.
        "workers": [{"name": name, "gates_unsupported": "allow"} for name in cast.WORKERS],
        "gc_interval": "1s",
        "journal": {"path": str(directory / JOURNAL)},
    }
    configuration = Configuration(**document)
    access = load_hub_kubeconfig(fleet.hub.kubeconfig_path, configuration.kubeconfig_policy)
    client_context = ClientContext(SystemClock(), random.SystemRandom().random)
    identity = await identify(configuration, access, client_context)
    journal = journal_of(configuration, client_context)
    if journal is None:
        raise TypeError("a demo has a journal")
    journal.start()
    try:
        yield Daemon(configuration, access, identity, client_context, journaled(journal, Observers()))
    finally:
        journal.close()
