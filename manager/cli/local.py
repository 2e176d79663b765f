"""`turnstile local`: API servers on this machine to try things on."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from manager.cli.conventions.errors import refusing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from localcluster.cluster import LocalCluster

_DEFAULT_DIRECTORY = Path(".turnstile")


def local(
    clusters: Annotated[str, typer.Option(help="Names of the clusters, comma-separated.")] = "hub,worker-1,worker-2",
    directory: Annotated[Path, typer.Option(help="For certificates and kubeconfigs.")] = _DEFAULT_DIRECTORY,
    kueue: Annotated[
        bool, typer.Option("--kueue", help="Run a Kueue simulator on each cluster, which also runs Jobs.")
    ] = False,
) -> None:
    """Start local clusters on loopback and serve until Ctrl-C."""
    import asyncio

    from manager.demo.clusters import LocalClusterError, serve_local_clusters

    names = [name.strip() for name in clusters.split(",")]
    with refusing(LocalClusterError):
        asyncio.run(serve_local_clusters(names, directory.absolute(), _announce, with_kueue=kueue))


def _announce(clusters: "Sequence[LocalCluster]") -> None:
    width = max(len(cluster.name) for cluster in clusters)
    for cluster in clusters:
        typer.echo(f"{cluster.name:<{width}}  export KUBECONFIG={shlex.quote(str(cluster.kubeconfig_path))}")
    first = shlex.quote(str(clusters[0].kubeconfig_path))
    typer.echo(f"try: kubectl --kubeconfig {first} get namespaces")
    typer.echo("serving until Ctrl-C")
    sys.stdout.flush()
