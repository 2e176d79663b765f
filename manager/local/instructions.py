"""What `turnstile local` prints: how to reach the clusters, and what to type next."""

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from localcluster.cluster import LocalCluster
from manager.local.daemon_process import DaemonFiles
from manager.local.fleet import BATCH, URGENT
from manager.process.invocation import typed_name

_LAST: Final = "serving until Ctrl-C"


def announce_clusters(clusters: Sequence[LocalCluster]) -> Iterator[str]:
    """Yield how to reach the clusters."""
    yield from _kubeconfigs(clusters)
    yield f"try: kubectl --kubeconfig {_path(clusters[0].kubeconfig_path)} get namespaces"
    yield _LAST


def announce_fleet(hub: LocalCluster, workers: Sequence[LocalCluster], files: DaemonFiles) -> Iterator[str]:
    """Yield how to reach the clusters and the daemon, and what to type next."""
    turnstile, socket = typed_name(), _path(files.socket)
    yield from _kubeconfigs([hub, *workers])
    yield f"daemon: configuration {files.configuration}, log {files.log}"
    yield ""
    yield "next, in another terminal:"
    yield f"  export KUBECONFIG={_path(hub.kubeconfig_path)}"
    yield f"  kubectl create -f {_path(files.directory / BATCH)}    # low-priority jobs that fill the workers"
    yield f"  kubectl create -f {_path(files.directory / URGENT)}    # a job that needs one of them to make room"
    yield f"  {turnstile} status --socket {socket}"
    yield f"  {turnstile} explain job/urgent --socket {socket}"
    yield f"  {turnstile} local cut {workers[0].name} --directory {_path(files.directory)}    # and: local restore"
    yield "docs/tutorial.md goes through it step by step"
    yield ""
    yield _LAST


def _kubeconfigs(clusters: Sequence[LocalCluster]) -> Iterator[str]:
    width = max(len(cluster.name) for cluster in clusters)
    for cluster in clusters:
        yield f"{cluster.name:<{width}}  export KUBECONFIG={_path(cluster.kubeconfig_path)}"


def _path(path: Path) -> str:
    return shlex.quote(str(path))
