"""One real cluster: etcd, kube-apiserver, controllers, Kueue, and on workers a scheduler and a stand-in kubelet."""

import signal
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.realbed import apiserver, audit, build, controllers, kubeconfig, kueue, objects
from tests.realbed.apiserver import ApiServer
from tests.realbed.kueue import Kueue, KueueOptions
from tests.realbed.processes import ProcessGroup, Running

REPOSITORY = Path(__file__).parents[2]
TURNSTILE_NAMESPACE = "turnstile-system"
_TOKEN_SECONDS = 60 * 24 * 3600
_BACK_SECONDS = 180.0
_HUB_ROLES = ("hub.yaml",)
_WORKER_ROLES = ("worker.yaml", "worker-forecasts.yaml", "worker-kueue.yaml")

HUB_BINARIES = (build.ETCD, build.KUBE_APISERVER, build.KUBE_CONTROLLER_MANAGER, build.KUEUE)
WORKER_BINARIES = (*HUB_BINARIES, build.KUBE_SCHEDULER)


@dataclass(slots=True)
class RealCluster:
    """A running cluster and what can be done to it."""

    name: str
    directory: Path
    server: ApiServer
    kueue: Kueue
    turnstile_token: str
    """Of the service account that Turnstile's own manifests make."""
    _processes: ProcessGroup
    _followers: Sequence[Running]
    """What else belongs to the control plane and goes down with it."""

    @property
    def kubeconfig(self) -> Path:
        """Return the administrator's kubeconfig."""
        return self.server.kubeconfig

    def turnstile_kubeconfig(self, url: str | None = None) -> Path:
        """Write the kubeconfig that Turnstile is given, for this cluster's address or another way to it."""
        path = self.directory / "turnstile.kubeconfig"
        return kubeconfig.write(
            path, url=url or self.server.url, ca_file=self.server.ca_file, token=self.turnstile_token, name=self.name
        )

    def hub_kubeconfig(self, url: str) -> Path:
        """Write the kubeconfig for a hub's controller that ships no roles of its own."""
        path, token = self.directory / "hub.kubeconfig", self.server.hub_token
        return kubeconfig.write(path, url=url, ca_file=self.server.ca_file, token=token, name=self.name)

    def kill(self) -> None:
        """End the control plane as a power failure would; `start_again` brings it back with all objects."""
        for running in (self.server.running, self.kueue.running, *self._followers):
            running.kill()

    def start_again(self) -> None:
        """Start the control plane once more and return when it works."""
        self._processes.start_again(self.server.running)
        self.server.running.wait_until(self.server.is_ready, seconds=_BACK_SECONDS)
        for running in (self.kueue.running, *self._followers):
            self._processes.start_again(running)
        self.kueue.wait_until_effective()

    def freeze(self) -> None:
        """Stop the API server in its tracks: its connections stay, nothing answers."""
        self.server.running.send(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let the API server go on."""
        self.server.running.send(signal.SIGCONT)


def start_all(
    processes: ProcessGroup, directory: Path, options: dict[str, KueueOptions], hub: str, *, audited: bool
) -> dict[str, RealCluster]:
    """Start clusters side by side; `hub` names the one that needs no pods."""
    for binary in (*WORKER_BINARIES, *(each.binary for each in options.values())):
        build.ensure_built(binary)
    with ThreadPoolExecutor() as threads:
        starting = {
            name: threads.submit(start, processes, directory / name, each, runs_pods=name != hub, audited=audited)
            for name, each in options.items()
        }
        return {name: future.result() for name, future in starting.items()}


def start(
    processes: ProcessGroup, directory: Path, options: KueueOptions, *, runs_pods: bool, audited: bool
) -> RealCluster:
    """Start one cluster; its name is that of its directory."""
    name = directory.name
    prefix = f"{name}-"
    flags = audit.flags(directory) if audited else []
    server = apiserver.start(processes, directory, prefix=prefix, more_flags=flags)
    followers = [controllers.start_controller_manager(processes, server, prefix=prefix)]
    if runs_pods:
        kubelet = [sys.executable, "-m", "tests.realbed.kubelet", server.kubeconfig]
        followers.append(controllers.start_scheduler(processes, server, prefix=prefix))
        followers.append(processes.start(f"{prefix}kubelet", kubelet))
    running = kueue.start(processes, server, directory / "kueue", options, prefix=prefix)
    return RealCluster(
        name=name,
        directory=directory,
        server=server,
        kueue=running,
        turnstile_token=_turnstile_token(server, _WORKER_ROLES if runs_pods else _HUB_ROLES),
        _processes=processes,
        _followers=followers,
    )


def shipped_roles(manifest: str) -> list[objects.Obj]:
    """Return the objects of a manifest of roles that Turnstile ships."""
    return objects.documents(REPOSITORY / "deploy" / "rbac" / manifest)


def _turnstile_token(server: ApiServer, manifests: Sequence[str]) -> str:
    """Apply the manifests that Turnstile ships and return a token for the account that they make."""
    for manifest in manifests:
        objects.apply(server, shipped_roles(manifest))
    return service_token(server, "turnstile")


def service_token(server: ApiServer, account: str) -> str:
    """Return a token for a service account of Turnstile's namespace."""
    request: dict[str, Any] = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"expirationSeconds": _TOKEN_SECONDS},
    }
    path = f"/api/v1/namespaces/{TURNSTILE_NAMESPACE}/serviceaccounts/{account}/token"
    status, reply = server.call("POST", path, request)
    if status != 201:
        raise RuntimeError(f"no token for {account} on {server.url}: {status} {reply.get('message')}")
    return str(reply["status"]["token"])
