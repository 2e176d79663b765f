"""One etcd member on loopback, and the few calls of its JSON gateway that a test needs."""

import base64
import http.client
import json
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.realbed import build
from tests.realbed.ports import free_ports
from tests.realbed.processes import ProcessGroup

_READY_SECONDS = 60.0
_REQUEST_SECONDS = 30.0
_ANY_KEY = base64.b64encode(b"any").decode()


@dataclass(frozen=True, slots=True)
class Etcd:
    """A running member."""

    port: int

    @property
    def url(self) -> str:
        """Return the client address: plain HTTP, loopback only."""
        return f"http://127.0.0.1:{self.port}"

    def compact(self) -> int:
        """Forget all history before the current revision, and return that revision."""
        revision = int(self._call("/v3/kv/range", {"key": _ANY_KEY})["header"]["revision"])
        self._call("/v3/kv/compaction", {"revision": str(revision), "physical": True})
        return revision

    def is_healthy(self) -> bool:
        """Return whether the member answers and has a leader."""
        with closing(self._connection()) as connection:
            try:
                connection.request("GET", "/health")
                return connection.getresponse().status == 200
            except OSError:
                return False

    def _call(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        with closing(self._connection()) as connection:
            connection.request("POST", path, json.dumps(body))
            reply: dict[str, Any] = json.loads(connection.getresponse().read())
        if "error" in reply:
            raise RuntimeError(f"etcd {path}: {reply['error']}")
        return reply

    def _connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=_REQUEST_SECONDS)


def start(processes: ProcessGroup, data: Path, *, name: str = "etcd") -> Etcd:
    """Start a member with fresh data and return once it is healthy."""
    client_port, peer_port = free_ports(2)
    etcd, peer = Etcd(client_port), f"http://127.0.0.1:{peer_port}"
    running = processes.start(
        name,
        [
            build.ensure_built(build.ETCD),
            f"--data-dir={data}",
            f"--listen-client-urls={etcd.url}",
            f"--advertise-client-urls={etcd.url}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            "--log-level=warn",
            # The data live as long as the test run: durability would only cost time.
            "--unsafe-no-fsync",
        ],
    )
    running.wait_until(etcd.is_healthy, seconds=_READY_SECONDS)
    return etcd
