"""Kubernetes' own controllers and scheduler beside a real API server, and one node for pods to be bound to."""

from typing import Final

from tests.realbed import build, objects
from tests.realbed.apiserver import ApiServer
from tests.realbed.objects import Obj
from tests.realbed.ports import free_ports
from tests.realbed.processes import ProcessGroup, Running

_CONTROLLERS: Final = ("job-controller", "garbage-collector-controller", "namespace-controller")
_NODE: Final = "node-1"
_CAPACITY: Final = {"cpu": "10k", "memory": "10Ti", "pods": "10k"}


def start_controller_manager(processes: ProcessGroup, server: ApiServer, *, prefix: str = "") -> Running:
    """Start the controllers that run Jobs, collect garbage and empty deleted namespaces."""
    arguments = [
        build.ensure_built(build.KUBE_CONTROLLER_MANAGER),
        *_served_on_loopback(server),
        f"--controllers={','.join(_CONTROLLERS)}",
    ]
    return processes.start(f"{prefix}kube-controller-manager", arguments)


def start_scheduler(processes: ProcessGroup, server: ApiServer, *, prefix: str = "") -> Running:
    """Start the scheduler and give it a node with room for everything: Kueue's quota is what limits."""
    objects.apply(server, [_node({})])
    objects.apply(server, [_node(_node_status())], subresource="status")
    arguments = [build.ensure_built(build.KUBE_SCHEDULER), *_served_on_loopback(server)]
    return processes.start(f"{prefix}kube-scheduler", arguments)


def _served_on_loopback(server: ApiServer) -> list[str]:
    (port,) = free_ports(1)
    return [
        f"--kubeconfig={server.kubeconfig}",
        "--leader-elect=false",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        f"--tls-cert-file={server.certificates.server_certificate}",
        f"--tls-private-key-file={server.certificates.server_key}",
        "--authentication-skip-lookup=true",
        "--authorization-always-allow-paths=/healthz,/readyz,/livez",
    ]


def _node(status: Obj) -> Obj:
    node: Obj = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": _NODE}}
    return {**node, "status": status} if status else node


def _node_status() -> Obj:
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "a stand-in posts ready status"}
    return {"capacity": _CAPACITY, "allocatable": _CAPACITY, "conditions": [ready]}
