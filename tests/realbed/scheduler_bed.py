"""A real API server with a real kube-scheduler of one release that looks at the cluster once.

The scheduler is started again for every situation: it lists everything before it schedules, so it never acts on
half a picture. Evictions and nominations are written within the cycle, and nothing gets a second cycle; then what is
seen is what one cycle did.
"""

import http.client
import json
import secrets
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.realbed import certificates, etcd, kubeconfig, scheduler_build
from tests.realbed.ports import free_ports
from tests.realbed.processes import ProcessGroup, Running
from tests.realbed.scheduler_build import Release

_READY_SECONDS = 180.0
_REQUEST_SECONDS = 30.0
_NEVER_SECONDS = 86_400

_GATES = {"1.36": ("GenericWorkload", "GangScheduling", "WorkloadAwarePreemption"), "1.37": ("GenericWorkload",)}
POD_GROUP_VERSIONS = {"1.36": "scheduling.k8s.io/v1alpha2", "1.37": "scheduling.k8s.io/v1beta1"}
#: Asynchronous writes change when something is seen, not what; a pod that waits for its next try must not be popped.
_SINGLE_CYCLE_GATES = ("SchedulerAsyncPreemption", "SchedulerAsyncAPICalls", "SchedulerPopFromBackoffQ")


@dataclass(slots=True)
class ControlPlane:
    """A ready API server, spoken to as administrator over one connection."""

    release: Release
    directory: Path
    port: int
    token: str
    files: certificates.Certificates
    kubeconfig: Path
    processes: ProcessGroup
    _connection: http.client.HTTPSConnection = field(repr=False)

    def call(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, content_type: str = "application/json"
    ) -> tuple[int, dict[str, Any]]:
        """Do one blocking request; return the HTTP status and the decoded answer."""
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": content_type}
        try:
            self._connection.request(method, path, None if body is None else json.dumps(body), headers)
            reply = self._connection.getresponse()
        except (http.client.HTTPException, OSError):
            self._connection.close()
            raise
        content = reply.read()
        is_json = (reply.getheader("Content-Type") or "").startswith("application/json")
        return reply.status, json.loads(content) if is_json else {}

    def close(self) -> None:
        """Hang up."""
        self._connection.close()

    def is_ready(self) -> bool:
        """Return whether all start-up hooks are done and the first namespaces exist."""
        try:
            ready = self.call("GET", "/readyz")[0] == 200
            return ready and self.call("GET", "/api/v1/namespaces/default")[0] == 200
        except (http.client.HTTPException, OSError):
            return False

    def start_scheduler(self) -> Running:
        """Start a scheduler that gives every pod one cycle."""
        configuration = self.directory / "scheduler.yaml"
        configuration.write_text(yaml.safe_dump(_scheduler_configuration(self.kubeconfig)))
        gates = [f"{gate}=true" for gate in _GATES[self.release.minor]]
        gates += [f"{gate}=false" for gate in _SINGLE_CYCLE_GATES]
        (port,) = free_ports(1)
        return self.processes.start(
            "kube-scheduler",
            [
                scheduler_build.kubernetes(self.release, "kube-scheduler"),
                f"--config={configuration}",
                f"--feature-gates={','.join(gates)}",
                "--bind-address=127.0.0.1",
                f"--secure-port={port}",
                f"--tls-cert-file={self.files.server_certificate}",
                f"--tls-private-key-file={self.files.server_key}",
                "--authentication-skip-lookup=true",
                "--authorization-always-allow-paths=/healthz,/readyz,/livez",
            ],
        )


def start(processes: ProcessGroup, directory: Path, release: Release) -> ControlPlane:
    """Start etcd and the API server of a release, and return once they are ready."""
    binary = scheduler_build.kubernetes(release, "kube-apiserver")
    store = etcd.start(processes, directory / "etcd")
    files = certificates.issue(directory)
    (port,) = free_ports(1)
    token, url = secrets.token_urlsafe(24), f"https://127.0.0.1:{port}"
    tokens = directory / "tokens.csv"
    tokens.touch(mode=0o600)
    tokens.write_text(f'{token},admin,admin,"system:masters"\n')
    tls = ssl.create_default_context(cafile=str(files.ca_file))
    plane = ControlPlane(
        release=release,
        directory=directory,
        port=port,
        token=token,
        files=files,
        kubeconfig=kubeconfig.write(directory / "kubeconfig", url=url, ca_file=files.ca_file, token=token),
        processes=processes,
        _connection=http.client.HTTPSConnection("127.0.0.1", port, timeout=_REQUEST_SECONDS, context=tls),
    )
    running = processes.start("kube-apiserver", [binary, *_flags(port, store, files, tokens, release)])
    running.wait_until(plane.is_ready, seconds=_READY_SECONDS)
    return plane


def _flags(port: int, store: etcd.Etcd, files: certificates.Certificates, tokens: Path, release: Release) -> list[str]:
    return [
        f"--etcd-servers={store.url}",
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        f"--secure-port={port}",
        f"--tls-cert-file={files.server_certificate}",
        f"--tls-private-key-file={files.server_key}",
        f"--token-auth-file={tokens}",
        "--anonymous-auth=false",
        "--authorization-mode=RBAC",
        f"--service-account-key-file={files.service_account_key}",
        f"--service-account-signing-key-file={files.service_account_key}",
        "--service-account-issuer=https://kubernetes.default.svc",
        "--service-cluster-ip-range=10.0.0.0/24",
        "--endpoint-reconciler-type=none",
        # Nothing creates service accounts or untaints nodes here, and priorities are given as numbers.
        "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition,Priority",
        "--feature-gates=GenericWorkload=true",
        f"--runtime-config={POD_GROUP_VERSIONS[release.minor]}=true",
    ]


def _scheduler_configuration(kubeconfig_file: Path) -> dict[str, Any]:
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": str(kubeconfig_file), "qps": 1000, "burst": 1000},
        "leaderElection": {"leaderElect": False},
        "podInitialBackoffSeconds": _NEVER_SECONDS,
        "podMaxBackoffSeconds": _NEVER_SECONDS,
    }
