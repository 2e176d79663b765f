"""How many copies a Workload costs: all workers at once, against first the one where it is forecast to fit.

    python -m benchmarks forecast_first

A hub and two workers with free quota, each with the stand-in for Kueue, in one process; 200 Jobs are submitted at once.
A double admission is a Workload that held quota on both workers before one copy was withdrawn.
"""

import asyncio
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import structlog

from config.kubeconfig.sources import load_worker_kubeconfig
from config.names import CONFIG_API_VERSION, CONFIG_KIND, KUEUE_GROUP, MULTIKUEUE_NAME
from config.sections.sections import KubeconfigPolicy
from config.sections.settings import Configuration
from localcluster.cluster import LocalCluster
from localcluster.fleet import HUB_NAMESPACE, LocalFleet, Member
from localcluster.sample_queues import NAMESPACE, QUEUE
from localcluster.serving.faults import Latency
from localcluster.store.ledger import Change
from manager.app.daemon import Daemon, identify
from manager.base.clock import SystemClock
from workerclient.cluster import ClientContext

Json = dict[str, Any]

JOBS = 200
WORKERS = ("worker-1", "worker-2")
CPU = "400"
ROUND = "60s"
"""Longer than a crowd of Jobs takes when all clusters share one processor with the daemon."""
_WRITES = ("create", "update", "patch", "delete")


def run() -> None:
    """Measure both dispatchers and print."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
    print(f"\nDispatch of {JOBS} Jobs to {len(WORKERS)} workers with free quota")
    print("| dispatcher | admitted | double admissions | copies made | writes to workers | per Job | seconds |")
    print("|---|---|---|---|---|---|---|")
    for mode in ("AllAtOnce", "ForecastFirst"):
        with tempfile.TemporaryDirectory() as directory:
            asyncio.run(_measure(mode, Path(directory)))


class Tally:
    """Who held quota where, at any time."""

    def __init__(self, fleet: LocalFleet) -> None:
        self.copies = 0
        self.now: dict[str, set[str]] = {}
        self.doubles: set[str] = set()
        for worker in fleet.workers:
            worker.store.subscribe(worker.store.kind("workloads", KUEUE_GROUP), self._listener(worker.name))

    def _listener(self, worker: str) -> Any:
        def note(change: Change) -> None:
            raw = change.new.obj
            name = raw["metadata"]["name"]
            self.copies += change.old is None
            conditions = (raw.get("status") or {}).get("conditions") or ()
            holds = any(c["type"] == "QuotaReserved" and c["status"] == "True" for c in conditions)
            holding = self.now.setdefault(name, set())
            if holds and change.type.value != "DELETED":
                holding.add(worker)
            else:
                holding.discard(worker)
            if len(holding) > 1:
                self.doubles.add(name)

        return note


async def _measure(mode: str, directory: Path) -> None:
    members = [Member(name, cpu=CPU) for name in WORKERS]
    async with LocalFleet(Member("hub", cpu=CPU), members, directory) as fleet:
        access = load_worker_kubeconfig(fleet.hub.kubeconfig_path, KubeconfigPolicy(allowed_directories=(directory,)))
        document: Json = {
            "api_version": CONFIG_API_VERSION,
            "kind": CONFIG_KIND,
            "dispatcher": {"mode": mode, "forecast_round_timeout": ROUND},
        }
        document |= {"hub": {"namespace": HUB_NAMESPACE}, "jobs": {"integrations": ["batch/job"]}}
        configuration = Configuration(**document)
        client_context = ClientContext(SystemClock(), lambda: 0.5)
        identity = await identify(configuration, access, client_context)
        daemon = Daemon(configuration, access, identity, client_context)
        running = asyncio.create_task(daemon.run())
        await _until(lambda: _is_ready(daemon))
        tally = Tally(fleet)
        with _counted(fleet.workers) as counts:
            started = time.monotonic()
            for number in range(JOBS):
                _submit(fleet.hub, number)
            await _until(lambda: _ready(fleet.hub) == JOBS and all(len(held) == 1 for held in tally.now.values()))
            seconds = time.monotonic() - started
        writes = sum(counts.values())
        print(
            f"| {mode} | {_ready(fleet.hub)} | {len(tally.doubles)} | {tally.copies} | {writes} | "
            f"{writes / JOBS:.2f} | {seconds:.1f} |"
        )
        running.cancel()
        await asyncio.wait([running])


def _is_ready(daemon: Daemon) -> bool:
    links = daemon.fleet.links
    return len(links) == len(WORKERS) and all(
        link.is_connected and link.observation is not None and link.observation.is_complete for link in links.values()
    )


@contextmanager
def _counted(workers: list[LocalCluster]) -> Iterator[dict[str, int]]:
    """Count the daemon's writes to the workers; the stand-ins write to their stores, not over HTTP."""
    faults = [(verb, worker.faults.add(Latency(0), verb=verb)) for worker in workers for verb in _WRITES]
    counts: dict[str, int] = {}
    yield counts
    for verb, fault in faults:
        counts[verb] = counts.get(verb, 0) + fault.hits


def _submit(hub: LocalCluster, number: int) -> None:
    container = {"name": "c", "image": "registry.example/job:1", "resources": {"requests": {"cpu": "1"}}}
    spec = {"containers": [container], "restartPolicy": "Never"}
    job = {
        "metadata": {"name": f"job-{number}", "labels": {"kueue.x-k8s.io/queue-name": QUEUE}},
        "spec": {"suspend": True, "managedBy": MULTIKUEUE_NAME, "template": {"spec": spec}},
    }
    hub.store.create(hub.store.kind("jobs", "batch"), job, NAMESPACE)


def _ready(hub: LocalCluster) -> int:
    workloads = hub.store.list(hub.store.kind("workloads", KUEUE_GROUP))
    checks = [(raw.get("status") or {}).get("admissionChecks") or () for raw in workloads]
    return sum(any(check["state"] == "Ready" for check in entry) for entry in checks)


async def _until(condition: Any) -> None:
    async with asyncio.timeout(120):
        while not condition():  # noqa: ASYNC110 - the condition spans objects that know nothing of each other
            await asyncio.sleep(0.02)
