"""A fleet to try Turnstile on: hub and workers with queues, the workers registered as `worker add` does, the daemon."""

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import yaml

from config.api.meta import conditions, is_true
from config.kubeconfig.access import ClusterAccess
from config.kubeconfig.sources import load_hub_kubeconfig
from config.names import KUEUE_GROUP
from config.sections.sections import KubeconfigPolicy
from localcluster.cluster import LocalCluster, LocalClusterError
from localcluster.fleet import HUB_NAMESPACE, LocalFleet, Member
from manager.base.clock import SystemClock
from manager.local import samples
from manager.local.daemon_process import DaemonFiles, daemon_process
from manager.onboarding.clusters import Connections
from manager.onboarding.errors import OnboardingError
from manager.onboarding.workers import Onboarding, WorkerCluster
from workerclient.base.errors import ClusterError
from workerclient.cluster import ClientContext, ClusterClient
from workerclient.operator.cluster import OperatorCluster

BATCH: Final = "batch.yaml"
URGENT: Final = "urgent.yaml"
_TOKEN_SECONDS: Final = 365 * 24 * 3600
_PATIENCE_SECONDS: Final = 120.0
_HUB_SHARE: Final = 10
"""How many times the workers' quota the hub has: the workers decide what fits, not the hub."""
_READINESS_KINDS: Final = ("multikueueclusters", "clusterqueues")


def make_fleet(names: Sequence[str], directory: Path) -> LocalFleet:
    """Return a fleet whose first cluster is the hub; its workers are to be registered. Raises `LocalClusterError`."""
    if len(names) < 2:
        raise LocalClusterError("--clusters: a fleet needs a hub and at least one worker")
    workers = [Member(name, str(samples.WORKER_CPUS)) for name in names[1:]]
    hub = Member(names[0], str(samples.WORKER_CPUS * len(workers) * _HUB_SHARE))
    return LocalFleet(hub, workers, directory, registers_workers=False)


@asynccontextmanager
async def running_daemon(fleet: LocalFleet, directory: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    """Register the workers, write configuration and sample jobs, and run the daemon during the enclosed block."""
    await _register_workers(fleet)
    files = DaemonFiles(directory)
    files.write(fleet.hub.kubeconfig_path)
    for name, jobs in ((BATCH, samples.batch_jobs(len(fleet.workers))), (URGENT, [samples.urgent_job()])):
        (directory / name).write_text(yaml.safe_dump_all(jobs, sort_keys=False))
    async with daemon_process(files) as process:
        await _until_ready(fleet.hub, process, files.log)
        yield process


async def _register_workers(fleet: LocalFleet) -> None:
    context = ClientContext(SystemClock(), random.SystemRandom().random)
    connections = Connections(OperatorCluster, lambda name, access: ClusterClient(name, access, context))
    said: list[str] = []
    onboarding = Onboarding(_access(fleet.hub), HUB_NAMESPACE, connections, context.clock, said.append)
    try:
        for worker in fleet.workers:
            await onboarding.add(WorkerCluster(worker.name, _access(worker)), _TOKEN_SECONDS, None)
    except (ClusterError, OnboardingError) as error:
        raise LocalClusterError(f"cannot register the workers: {error}") from error


def _access(cluster: LocalCluster) -> ClusterAccess:
    return load_hub_kubeconfig(cluster.kubeconfig_path, KubeconfigPolicy())


async def _until_ready(hub: LocalCluster, process: asyncio.subprocess.Process, log: Path) -> None:
    """Wait until the hub says that its queue and all workers can be used."""
    changed = asyncio.Event()
    store = hub.store
    kinds = [store.kind(plural, KUEUE_GROUP) for plural in _READINESS_KINDS]
    unsubscribe = [store.subscribe(kind, lambda _change: changed.set()) for kind in kinds]
    ended = asyncio.create_task(process.wait())
    ended.add_done_callback(lambda _task: changed.set())
    try:
        async with asyncio.timeout(_PATIENCE_SECONDS):
            while not all(is_true(conditions(obj), "Active") for kind in kinds for obj in store.list(kind)):
                if process.returncode is not None:
                    raise LocalClusterError(f"the daemon ended: {_last_line(log)} (see {log})")
                changed.clear()
                await changed.wait()
    except TimeoutError:
        raise LocalClusterError(f"the daemon is not connected after {_PATIENCE_SECONDS:g} s; see {log}") from None
    finally:
        ended.cancel()
        for stop in unsubscribe:
            stop()


def _last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").split("\n")
    return next((line for line in reversed(lines) if line.strip()), "it wrote nothing")
