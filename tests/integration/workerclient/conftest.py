"""One local cluster for each test that asks for it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from localcluster.cluster import LocalCluster


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[LocalCluster]:
    """Run a worker cluster over HTTPS."""
    async with LocalCluster("w1", tmp_path) as running:
        yield running
