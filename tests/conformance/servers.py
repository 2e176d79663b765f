"""The servers that the suite runs against, behind one handle."""

import os
import secrets
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from localcluster.access.auth import TokenUser
from localcluster.cluster import LocalCluster
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


def is_continuous_integration() -> bool:
    """Return whether a leg that cannot run is a failure rather than a skip."""
    return os.environ.get("CI") == "true"


def why_no_real_server() -> str | None:
    """Return why the real server cannot run here and need not, or None; whether it can be built shows only later."""
    if is_continuous_integration():
        return None
    try:
        build.go_command()
    except build.ToolchainError as error:
        return str(error)
    return None


@asynccontextmanager
async def run_local(directory: Path) -> AsyncIterator[Server]:
    """Run the in-process server."""
    powerless = TokenUser("powerless", secrets.token_urlsafe(24), rules=())
    async with LocalCluster("local", directory, users=[powerless]) as cluster:
        yield Server(
            name="local",
            url=cluster.url,
            token=cluster.token,
            powerless_token=powerless.token,
            ca_file=cluster.ca_file,
            kubeconfig=cluster.kubeconfig_path,
            compact=cluster.store.ledger.forget_history,
        )


@contextmanager
def run_real(directory: Path) -> Iterator[Server]:
    """Run a kube-apiserver with etcd and Kueue's kinds; raise `ToolchainError` where that cannot be built."""
    if is_continuous_integration():
        build.install_go()
    # Without its snapshots in memory the server asks etcd for old states, and so notices a compaction at once.
    flags = [*apiserver.GANG_SCHEDULING, "--feature-gates=ListFromCacheSnapshot=false"]
    with apiserver.run(directory, more_flags=flags) as server:
        kueue_crds.install(server)
        yield Server(
            name="real",
            url=server.url,
            token=server.admin_token,
            powerless_token=server.powerless_token,
            ca_file=server.ca_file,
            kubeconfig=server.kubeconfig,
            compact=server.etcd.compact,
        )
