"""`turnstile local`: clusters to try things on, without any cluster."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from localcluster.cluster import LocalCluster

_DEFAULT_DIRECTORY = Path(".turnstile")


def local(
    clusters: Annotated[
        str, typer.Option(help="Names of the clusters, separated by commas.")
    ] = "hub,worker-1,worker-2",
    directory: Annotated[Path, typer.Option(help="Where certificates and kubeconfig files go.")] = _DEFAULT_DIRECTORY,
    kueue: Annotated[
        bool, typer.Option("--kueue", help="Run a stand-in for Kueue on each cluster, which also runs Jobs.")
    ] = False,
) -> None:
    """Start local clusters on loopback and serve them until Ctrl-C."""
    import asyncio

    from manager.local import LocalClusterError, serve_local_clusters

    names = [name.strip() for name in clusters.split(",")]
    try:
        asyncio.run(serve_local_clusters(names, directory.absolute(), _announce, with_kueue=kueue))
    except LocalClusterError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(2) from None


def _announce(clusters: "Sequence[LocalCluster]") -> None:
    width = max(len(cluster.name) for cluster in clusters)
    for cluster in clusters:
        typer.echo(f"{cluster.name:<{width}}  export KUBECONFIG={shlex.quote(str(cluster.kubeconfig_path))}")
    first = shlex.quote(str(clusters[0].kubeconfig_path))
    typer.echo(f"try: kubectl --kubeconfig {first} get namespaces")
    typer.echo("serving until Ctrl-C")
    sys.stdout.flush()
