"""`turnstile cost-controller` as a process."""

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from localcluster.cluster import LocalCluster
from tests.integration.orchestrator.kueue import KUEUE, NAMESPACE, job, workload

CONFIGURATION: dict[str, Any] = {
    "apiVersion": "config.multikueue-turnstile.dev/v1alpha1",
    "kind": "Configuration",
    "http": {"port": 0},
}


async def start(
    directory: Path, sections: Mapping[str, Any], packages: Path | None = None
) -> asyncio.subprocess.Process:
    file = directory / "turnstile.yaml"
    file.write_text(json.dumps({**CONFIGURATION, **sections}))
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("TURNSTILE_", "KUBERNETES_"))}
    if packages is not None:
        environment["PYTHONPATH"] = str(packages)
    command = (sys.executable, "-P", "-m", "manager", "cost-controller", "--config", str(file))
    return await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE, env=environment)


async def logged(process: asyncio.subprocess.Process, event: str) -> dict[str, Any]:
    assert process.stderr is not None
    async with asyncio.timeout(120):
        while True:
            text = (await process.stderr.readline()).decode()
            assert text, f"it ended before {event}"
            line: dict[str, Any] = json.loads(text)
            if line["event"] == event:
                return line


def create_job(cluster: LocalCluster) -> None:
    store = cluster.store
    store.create(store.kind("namespaces"), {"metadata": {"name": NAMESPACE}})
    made = store.create(store.kind("jobs", "batch"), job("j", managed_by=None), NAMESPACE).version.obj
    store.create(store.kind("workloads", KUEUE), workload("j", made), NAMESPACE)
