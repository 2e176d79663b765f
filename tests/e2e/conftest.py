"""One suite, two kinds of clusters: each test runs once on local ones and once on real Kueue.

All tests share one event loop, so that clusters and connections live until the last of them is over.
"""

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio

from localcluster.catalogue.registry import all_kinds
from tests.conformance.servers import is_continuous_integration
from tests.e2e.clusters import Clusters, run_local, run_real
from tests.e2e.fleets import chosen_releases
from tests.e2e.scene import Scene
from tests.realbed.bed import BedOptions
from tests.realbed.build import ToolchainError, install_go
from tests.realbed.kueue import KueueOptions
from tests.support.real_or_local import arrange

_HERE = Path(__file__).parent


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    arrange(config, items, _HERE, _runs_on_real)


def _runs_on_real(item: pytest.Function) -> bool:
    by_parameter = hasattr(item, "callspec") and item.callspec.params.get("clusters") == "real"
    real = {"real_scene", "real_clusters", "audited_clusters", "elastic_scene", "upgradable_clusters"}
    return by_parameter or not real.isdisjoint(item.fixturenames)


@pytest_asyncio.fixture(scope="package", loop_scope="session")
async def local_clusters(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Clusters]:
    async with run_local(tmp_path_factory.mktemp("local")) as clusters:
        yield clusters


@pytest_asyncio.fixture(scope="package", loop_scope="session")
async def older_clusters(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Clusters]:
    """Run local clusters that do not show by their version that gates are on by default."""
    async with run_local(tmp_path_factory.mktemp("older"), all_kinds(v1beta1=True)) as clusters:
        yield clusters


@pytest_asyncio.fixture(scope="package", loop_scope="session")
async def real_clusters(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Clusters]:
    try:
        options = BedOptions(audited=True, releases=chosen_releases())
    except ValueError as error:
        pytest.exit(str(error), returncode=2)
    async with _real(tmp_path_factory.mktemp("real"), options) as clusters:
        yield clusters


@pytest_asyncio.fixture(loop_scope="session")
async def audited_clusters(tmp_path: Path) -> AsyncIterator[Clusters]:
    """Give a test real clusters of its own, whose API servers keep a log of who asked for what."""
    async with _real(tmp_path / "audited", BedOptions(audited=True)) as clusters:
        yield clusters


@pytest_asyncio.fixture(loop_scope="session")
async def upgradable_clusters(tmp_path: Path) -> AsyncIterator[Clusters]:
    """Give a test clusters of its own that run an older release of Kueue."""
    releases = dict.fromkeys(("hub", "worker-1", "worker-2"), "v0.18.3")
    async with _real(tmp_path / "old", BedOptions(releases=releases)) as clusters:
        yield clusters


@pytest_asyncio.fixture(scope="package", loop_scope="session")
async def elastic_clusters(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Clusters]:
    """Run real clusters whose Kueue manages RayClusters, and resizes elastic jobs by slices of their Workloads."""
    options = KueueOptions(feature_gates={"ElasticJobsViaWorkloadSlices": True}, frameworks=("ray.io/raycluster",))
    async with _real(tmp_path_factory.mktemp("elastic"), BedOptions(hub=options, worker=options)) as clusters:
        yield clusters


@pytest_asyncio.fixture(loop_scope="session")
async def elastic_scene(elastic_clusters: Clusters, tmp_path: Path) -> AsyncIterator[Scene]:
    async with _set(elastic_clusters, tmp_path) as made:
        yield made


@asynccontextmanager
async def _real(directory: Path, options: BedOptions) -> AsyncIterator[Clusters]:
    try:
        if is_continuous_integration():
            install_go()
        async with run_real(directory, options) as clusters:
            yield clusters
    except ToolchainError as error:
        if is_continuous_integration():
            raise
        pytest.skip(f"no real Kueue: {error}")


@pytest.fixture(scope="package", params=["local", "real"])
def clusters(request: pytest.FixtureRequest) -> Clusters:
    # Each kind is a fixture of its own, so that a change of parameter does not restart it.
    found: Clusters = request.getfixturevalue(f"{request.param}_clusters")
    return found


@pytest_asyncio.fixture(loop_scope="session")
async def scene(clusters: Clusters, tmp_path: Path) -> AsyncIterator[Scene]:
    """Give a test its own names on the clusters, and clean up behind it."""
    async with _set(clusters, tmp_path) as made:
        yield made


@pytest_asyncio.fixture(loop_scope="session")
async def real_scene(real_clusters: Clusters, tmp_path: Path) -> AsyncIterator[Scene]:
    """Give the same to a test about what only real Kueue has."""
    async with _set(real_clusters, tmp_path) as made:
        yield made


@asynccontextmanager
async def _set(clusters: Clusters, directory: Path) -> AsyncIterator[Scene]:
    made = Scene(f"t-{secrets.token_hex(4)}", clusters, directory)
    try:
        yield made
    finally:
        for worker in clusters.workers.values():
            worker.way.mend()
        await made.tear_down()
