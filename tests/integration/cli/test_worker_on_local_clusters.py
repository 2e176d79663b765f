"""`turnstile worker` on local clusters: accounts, roles and tokens work there as they do on real ones."""

import asyncio
import base64
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml

from localcluster.cluster import LocalCluster, LocalClusters

SYSTEM = "turnstile-system"


@dataclass(frozen=True)
class Site:
    """A hub and a cluster that shall become its worker."""

    hub: LocalCluster
    worker: LocalCluster
    home: Path

    async def run(self, *arguments: str) -> str:
        """Run `turnstile worker` with the hub's kubeconfig in the environment; return what it prints."""
        done = await asyncio.to_thread(
            subprocess.run,
            [sys.executable, "-P", "-m", "manager", "worker", *arguments],
            env={"PATH": os.environ["PATH"], "HOME": str(self.home), "KUBECONFIG": str(self.hub.kubeconfig_path)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    async def on_worker(self, command: str, *more: str) -> str:
        return await self.run(command, "worker-1", "--kubeconfig", str(self.worker.kubeconfig_path), *more)

    def token(self) -> str:
        """Return the token that the hub has for the worker."""
        store = self.hub.store
        secret = store.get(store.kind("secrets"), "worker-1", SYSTEM)
        kubeconfig = yaml.safe_load(base64.b64decode(secret["data"]["kubeconfig"]))
        token: str = kubeconfig["users"][0]["user"]["token"]
        return token


@asynccontextmanager
async def site(directory: Path) -> AsyncIterator[Site]:
    async with LocalClusters(["hub", "worker-1"], directory) as clusters:
        hub = clusters["hub"]
        hub.store.create(hub.store.kind("namespaces"), {"metadata": {"name": SYSTEM}})
        yield Site(hub, clusters["worker-1"], directory)


async def test_a_worker_is_added_listed_renewed_and_removed(tmp_path: Path) -> None:
    async with site(tmp_path) as made:
        added = await made.on_worker("add", "--to-config", "all")
        assert "hub: created Secret turnstile-system/worker-1" in added
        assert "warning" not in added
        listed = (await made.run("list")).splitlines()
        assert listed[0].split()[:1] == ["NAME"]
        assert listed[1].split()[0] == "worker-1"
        assert listed[1].split()[-1] == "all"

        first = made.token()
        await made.on_worker("rotate")
        second = made.token()
        assert first != second
        assert "the old token is refused" in await made.on_worker("rotate", "--revoke")
        assert made.token() not in (first, second)

        made.hub.store.delete(made.hub.store.kind("multikueueconfigs", "kueue.x-k8s.io"), "all")
        removed = await made.run("remove", "worker-1", "--kubeconfig", str(made.worker.kubeconfig_path))
        assert "Secret" in removed
        accounts = made.worker.store.list(made.worker.store.kind("serviceaccounts"), SYSTEM)
        assert accounts == []


async def test_the_account_may_do_no_more_than_its_roles_say(tmp_path: Path) -> None:
    async with site(tmp_path) as made:
        await made.on_worker("add")
        store = made.worker.store
        store.delete(store.kind("clusterroles", "rbac.authorization.k8s.io"), "turnstile-worker")
        said = await made.on_worker("rotate")
        assert re.search("^warning: .*worker-1.*workloads", said, re.MULTILINE)
