"""A daemon process whose configuration file changes."""

import asyncio
import json
import shutil
import signal
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from localcluster.access.auth import TokenUser
from localcluster.cluster import LocalCluster
from tests.integration.orchestrator.daemon_process import CONFIGURATION, ended, logged, start
from tests.integration.orchestrator.world import SYSTEM
from tests.support.virtual_time import until

OTHER_TOKEN = "another-token-of-the-same-worker"


def watches(cluster: LocalCluster, resource: str = "") -> int:
    """Return how many watches were ever opened on a cluster, of one resource if it is named."""
    counts = cluster.traffic.counts().items()
    return sum(count for asked, count in counts if asked.verb == "watch" and resource in ("", asked.resource))


@dataclass
class Running:
    """A daemon, its clusters and its file."""

    process: asyncio.subprocess.Process
    directory: Path
    hub: LocalCluster
    workers: dict[str, LocalCluster]
    sections: dict[str, Any]
    heard: list[str] = field(default_factory=list)

    async def reload(self, event: str = "configuration.reloaded", **changes: Any) -> dict[str, Any]:
        """Change the file, tell the daemon, and return the log line by which it answers."""
        self.sections = {**self.sections, **changes}
        self.write(json.dumps({**CONFIGURATION, **self.sections}))
        return (await self.reload_as_it_is(event))[-1]

    async def reload_as_it_is(self, event: str = "configuration.reloaded") -> list[dict[str, Any]]:
        self.process.send_signal(signal.SIGHUP)
        return await logged(self.process, event)

    def write(self, text: str) -> None:
        (self.directory / "turnstile.yaml").write_text(text)

    def entry(self, name: str, **options: Any) -> dict[str, Any]:
        return {"name": name, "kubeconfig": {"path": str(self.directory / f"{name}.kubeconfig")}, **options}

    async def connected(self, *names: str) -> None:
        """Wait for the watches of these workers: Workloads and Jobs."""
        await until(lambda: all(watches(self.workers[name]) >= 2 for name in names))


@asynccontextmanager
async def running(directory: Path, **others: Any) -> AsyncIterator[Running]:
    heard: list[str] = []
    loop = asyncio.get_running_loop()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(directory / "notify"))
        listener.settimeout(0.0)
        loop.add_reader(listener, lambda: heard.append(listener.recv(4096).decode()))
        other = TokenUser("other", OTHER_TOKEN)
        async with (
            LocalCluster("hub", directory) as hub,
            LocalCluster("w1", directory, users=[other]) as first,
            LocalCluster("w2", directory) as second,
        ):
            hub.store.create(hub.store.kind("namespaces"), {"metadata": {"name": SYSTEM}})
            workers = {"w1": first, "w2": second}
            for name, worker in workers.items():
                shutil.copy(worker.kubeconfig_path, directory / f"{name}.kubeconfig")
            sections: dict[str, Any] = {
                "hub": {"kubeconfig": str(hub.kubeconfig_path)},
                "jobs": {"integrations": ["batch/job"]},
                "forecast": {"enabled": False},
                "kubeconfigPolicy": {"allowedDirectories": [str(directory)]},
                "discovery": {"enabled": False},
                "api": {"socket": str(directory / "api.sock")},
                "journal": {"path": None},
                **others,
            }
            made = Running(None, directory, hub, workers, sections, heard)  # type: ignore[arg-type]
            made.sections["workers"] = [made.entry("w1"), made.entry("w2")]
            environment = {"NOTIFY_SOCKET": str(directory / "notify")}
            made.process = await start(directory, environment=environment, **made.sections)
            try:
                await logged(made.process, "leadership.gained")
                await made.connected("w1", "w2")
                await until(lambda: any(message.startswith("READY=1") for message in heard))
                yield made
            finally:
                if made.process.returncode is None:
                    made.process.send_signal(signal.SIGTERM)
                code, rest = await ended(made.process)
        loop.remove_reader(listener)
    assert code == 0, rest
    assert "Traceback" not in rest
