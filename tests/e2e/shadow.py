"""A shadow on a scene: an account with exactly the shadow's roles, a process, and its report."""

import asyncio
import base64
import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from manager.cli.conventions.exits import Exit
from tests.conformance.resources import NAMESPACES, SECRETS, Resource
from tests.e2e.clusters import Cluster, RealSide
from tests.e2e.daemon import Turnstile
from tests.e2e.scene import Scene
from tests.realbed import audit, kubeconfig, objects
from tests.realbed.audit import SHADOW_NAMESPACE, SHADOW_USER
from tests.realbed.cluster import REPOSITORY, TURNSTILE_NAMESPACE

_RBAC = REPOSITORY / "deploy" / "rbac"
_ACCOUNTS = Resource("", "v1", "serviceaccounts", "ServiceAccount")
_WRITING = {"create", "update", "patch", "delete", "deletecollection"}


@dataclass
class Shadow:
    """A running shadow."""

    turnstile: Turnstile
    socket: Path
    journal: Path

    async def report(self, *, offline: bool = False) -> dict[str, Any]:
        """Return the report, from the daemon or from the file."""
        found: dict[str, Any] = json.loads(await self._command("-o", "json", offline=offline))
        return found

    async def workers(self) -> list[dict[str, Any]]:
        """Return what it says of its workers; nothing while it is not up."""
        if not await asyncio.to_thread(self.socket.exists):
            return []
        found = await self._run("status", "workers", "--socket", str(self.socket), "-o", "json")
        return json.loads(found)["items"] if found is not None else []

    async def screen(self, *, offline: bool = False) -> str:
        """Return the report as people see it."""
        return await self._command(offline=offline)

    async def _command(self, *options: str, offline: bool) -> str:
        place = ("--journal", str(self.journal)) if offline else ("--socket", str(self.socket))
        found = await self._run("shadow", "report", *place, *options)
        assert found is not None, "no daemon answers"
        return found

    async def _run(self, *arguments: str) -> str | None:
        """Run a command to its end; None if no daemon answers."""
        command = [sys.executable, "-P", "-m", "manager", *arguments]
        process = await asyncio.create_subprocess_exec(
            *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        out, err = await process.communicate()
        if process.returncode == Exit.NO_ANSWER:
            return None
        assert process.returncode == 0, err.decode()
        return out.decode()

    async def settled(self, count: int) -> bool:
        """Return whether so many episodes are known and all is over."""
        episodes = (await self.report())["episodes"]
        return len(episodes) == count and all(episode["settled"] for episode in episodes)


async def start_shadow(scene: Scene, directory: Path, **sections: Any) -> Shadow:
    """Give a shadow its account and kubeconfigs, and start it."""
    await asyncio.to_thread(directory.mkdir)
    for side in (scene.hub, *scene.workers.values()):
        reply = await side.api.post(NAMESPACES.at(), {"metadata": {"name": SHADOW_NAMESPACE}})
        assert reply.status in (201, 409)
    for name, side in scene.workers.items():
        content = await _kubeconfig(side, ("shadow-worker.yaml", "worker-kueue.yaml"), directory)
        data = {"kubeconfig": base64.b64encode(content.encode()).decode()}
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "data": data}
        path = SECRETS.at(SHADOW_NAMESPACE, name)
        assert (await scene.hub.api.apply(path, secret, "e2e", force="true")).status in (200, 201)
    socket, journal = directory / "api.sock", directory / "journal.db"
    document = {
        "hub": {"namespace": SHADOW_NAMESPACE},
        "api": {"socket": str(socket)},
        "journal": {"path": str(journal)},
        **sections,
    }
    turnstile = Turnstile(directory, await _kubeconfig(scene.hub, ("shadow.yaml",), directory), document, ["--shadow"])
    scene.turnstile = scene.turnstile or turnstile  # whose log is shown when a wait is in vain
    await turnstile.start()
    return Shadow(turnstile, socket, journal)


async def writes_of_shadow(scene: Scene) -> dict[str, set[str]]:
    """Return what the shadow wrote, by cluster, and make sure that it was there at all."""
    found = {}
    for side in (scene.hub, *scene.workers.values()):
        assert isinstance(side, RealSide)
        records = [each for each in audit.since(side.real.directory, 0) if each.user == SHADOW_USER]
        assert records, f"the log of {side.name} does not show the shadow"
        found[side.name] = {f"{each.verb} {each.resource}" for each in records if each.verb in _WRITING}
    return found


async def refusals_of_shadow(scene: Scene) -> list[str]:
    """Return what the shadow asked for and was refused."""
    found = []
    for side in (scene.hub, *scene.workers.values()):
        assert isinstance(side, RealSide)
        records = (each for each in audit.since(side.real.directory, 0) if each.user == SHADOW_USER)
        found += [f"{side.name}: {each.verb} {each.resource}" for each in records if each.code == 403]
    return found


async def _kubeconfig(side: Cluster, manifests: Iterable[str], directory: Path) -> str:
    """Return a kubeconfig for an account that has the shadow's roles and no other; a local cluster knows no roles."""
    if not isinstance(side, RealSide):
        return side.kubeconfig()
    text = "\n---\n".join((_RBAC / manifest).read_text() for manifest in manifests)
    text = text.replace(f"namespace: {TURNSTILE_NAMESPACE}", f"namespace: {SHADOW_NAMESPACE}")
    text = text.replace("name: turnstile-worker-", "name: turnstile-shadow-worker-")  # Turnstile itself keeps its own
    documents = [each for each in yaml.safe_load_all(text) if each["kind"] != "Namespace"]
    metadata = {"name": "turnstile", "namespace": SHADOW_NAMESPACE}
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}
    await asyncio.to_thread(objects.apply, side.real.server, [account, *documents])
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 7200}}
    place = _ACCOUNTS.at(SHADOW_NAMESPACE, "turnstile", "token")
    token = (await side.api.post(place, request)).expect(201)["status"]["token"]
    path = directory / f"{side.name}.kubeconfig"
    server = side.real.server
    return kubeconfig.write(path, url=side.way.url, ca_file=server.ca_file, token=token, name=side.name).read_text()
