"""A real kube-apiserver with its etcd, as processes on loopback: TLS, bearer tokens, RBAC, no controllers.

Nothing reconciles here: no garbage collector, no namespace controller, no scheduler. What is seen is the API server's
own behaviour.
"""

import http.client
import json
import secrets
import ssl
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.realbed import build, certificates, etcd, kubeconfig
from tests.realbed.ports import free_ports
from tests.realbed.processes import ProcessGroup, Running

_READY_SECONDS = 180.0
_REQUEST_SECONDS = 60.0

GANG_SCHEDULING = ("--feature-gates=GenericWorkload=true", "--runtime-config=scheduling.k8s.io/v1alpha2=true")
"""The gang scheduling kinds are alpha in this version: a gate lets them in, a version must be switched on."""


@dataclass(frozen=True, slots=True)
class ApiServer:
    """A ready server and everything that a client needs to speak to it."""

    port: int
    admin_token: str
    powerless_token: str
    """Of a user without any role binding."""
    hub_token: str
    """Of a user who may do everything, for controllers of a hub that ship no roles of their own."""
    ca_file: Path
    kubeconfig: Path
    certificates: certificates.Certificates
    etcd: etcd.Etcd
    running: Running
    _tls: ssl.SSLContext = field(repr=False)

    @property
    def url(self) -> str:
        """Return the base address."""
        return _url(self.port)

    def call(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, *, content_type: str = "application/json"
    ) -> tuple[int, dict[str, Any]]:
        """Do one blocking request as administrator, for set-up; return the HTTP status and the decoded answer."""
        with closing(
            http.client.HTTPSConnection("127.0.0.1", self.port, timeout=_REQUEST_SECONDS, context=self._tls)
        ) as connection:
            headers = {"Authorization": f"Bearer {self.admin_token}", "Content-Type": content_type}
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            reply = connection.getresponse()
            content = reply.read()
        is_json = (reply.getheader("Content-Type") or "").startswith("application/json")
        return reply.status, json.loads(content) if is_json else {}

    def is_ready(self) -> bool:
        """Return whether all start-up hooks are done and the first namespaces exist."""
        try:
            ready = self.call("GET", "/readyz")[0] == 200
            return ready and self.call("GET", "/api/v1/namespaces/default")[0] == 200
        except OSError:
            return False


@contextmanager
def run(directory: Path, *, more_flags: Sequence[str] = ()) -> Iterator[ApiServer]:
    """Start etcd and kube-apiserver with their files under the directory; stop both at the end, whatever happens."""
    with ProcessGroup(directory / "logs") as processes:
        yield start(processes, directory, more_flags=more_flags)


def start(
    processes: ProcessGroup,
    directory: Path,
    *,
    prefix: str = "",
    more_flags: Sequence[str] = (),
) -> ApiServer:
    """Start one control plane among the given processes and return once it is ready; `prefix` begins their names."""
    binary = build.ensure_built(build.KUBE_APISERVER)
    store = etcd.start(processes, directory / "etcd", name=f"{prefix}etcd")
    files = certificates.issue(directory)
    (port,) = free_ports(1)
    admin, powerless, hub = (secrets.token_urlsafe(24) for _ in range(3))
    tokens = directory / "tokens.csv"
    tokens.touch(mode=0o600)
    masters = "".join(f'{token},{name},{name},"system:masters"\n' for token, name in ((admin, "admin"), (hub, "hub")))
    tokens.write_text(f"{masters}{powerless},powerless,powerless\n")
    flags = [*_flags(port, store, files, tokens), *more_flags]
    running = processes.start(f"{prefix}kube-apiserver", [binary, *flags])
    server = ApiServer(
        port=port,
        admin_token=admin,
        powerless_token=powerless,
        hub_token=hub,
        ca_file=files.ca_file,
        kubeconfig=kubeconfig.write(directory / "kubeconfig", url=_url(port), ca_file=files.ca_file, token=admin),
        certificates=files,
        etcd=store,
        running=running,
        _tls=ssl.create_default_context(cafile=str(files.ca_file)),
    )
    running.wait_until(server.is_ready, seconds=_READY_SECONDS)
    return server


def _flags(port: int, store: etcd.Etcd, files: certificates.Certificates, tokens: Path) -> list[str]:
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
        # No controller creates service accounts, and nothing taints and untaints nodes.
        "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
    ]


def _url(port: int) -> str:
    return f"https://127.0.0.1:{port}"
