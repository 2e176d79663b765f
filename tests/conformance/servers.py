"""The servers that the suite runs against, behind one handle."""

import asyncio
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.realbed import apiserver, build, kueue_crds


@dataclass(frozen=True, slots=True)
class Server:
    """What a client needs to speak to a server, and what a test may do to it behind its back."""

    name: str
    url: str
    token: str
    powerless_token: str
    """Of a user who may do nothing."""
    ca_file: Path
    kubeconfig: Path
    compact: Callable[[], object]
    """Makes the server forget all history before now."""
    collects_garbage: bool
    """Whether something acts on owner references and terminating namespaces; a bare API server does not."""


def is_continuous_integration() -> bool:
    """Tell whether a leg that cannot run is a failure rather than a skip."""
    return os.environ.get("CI") == "true"


@contextmanager
def run_real(directory: Path) -> Iterator[Server]:
    """Run a kube-apiserver with etcd and Kueue's kinds; raise `ToolchainError` where that cannot be built."""
    if is_continuous_integration():
        build.install_go()
    # Without its snapshots in memory the server asks etcd for old states, and so notices a compaction at once.
    with apiserver.run(directory, feature_gates=["ListFromCacheSnapshot=false"]) as server:
        kueue_crds.install(server)
        yield Server(
            name="real",
            url=server.url,
            token=server.admin_token,
            powerless_token=server.powerless_token,
            ca_file=server.ca_file,
            kubeconfig=server.kubeconfig,
            compact=server.etcd.compact,
            collects_garbage=False,
        )
