"""What of deploy/ the local API server knows, it takes as a real one does."""

import asyncio
from pathlib import Path

import pytest

from localcluster.catalogue.registry import all_kinds
from localcluster.cluster import LocalCluster
from tests.deploy.kubectl import Kubectl, Manifest, parsed

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
KNOWN = {(kind.api_version, kind.kind) for kind in all_kinds()}


def known(path: Path) -> list[Manifest]:
    """Return the manifests of a file whose kinds the local server serves."""
    return [each for each in parsed(path.read_text()) if (each.get("apiVersion"), each.get("kind")) in KNOWN]


FILES = [path for folder in ("rbac", "samples") for path in sorted((DEPLOY / folder).glob("*.yaml")) if known(path)]


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
async def test_the_local_server_takes_what_it_knows(tmp_path: Path, kubectl_program: str, path: Path) -> None:
    manifests = known(path)
    for manifest in manifests:
        if generated := manifest["metadata"].pop("generateName", None):
            manifest["metadata"]["name"] = f"{generated}1"
    async with LocalCluster("local", tmp_path / "cluster") as cluster:
        for namespace in ("turnstile-system", "team"):
            cluster.store.create(cluster.store.kind("namespaces"), {"metadata": {"name": namespace}})
        kubectl = Kubectl(kubectl_program, cluster.kubeconfig_path, tmp_path)
        assert await asyncio.to_thread(kubectl.complaints, manifests) == ""
