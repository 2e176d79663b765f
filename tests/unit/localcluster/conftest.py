"""Stores on a clock that stands still, and a served cluster with a client."""

from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from localcluster.cluster import LocalCluster
from localcluster.kinds.clock import ManualClock
from localcluster.store.store import Store
from tests.unit.localcluster.serving import START, served_kinds, session_for, store_with_default_namespace


@pytest.fixture
def clock() -> ManualClock:
    """Return a clock that only the test moves."""
    return ManualClock(START)


@pytest.fixture
def store(clock: ManualClock) -> Store:
    """Return a store with the default namespace."""
    return store_with_default_namespace(clock)


@pytest.fixture
async def cluster(tmp_path: Path, clock: ManualClock) -> AsyncIterator[LocalCluster]:
    """Serve a cluster over HTTPS."""
    async with LocalCluster("hub", tmp_path, kinds=served_kinds(), clock=clock, history=50, watch_buffer=20) as cluster:
        yield cluster


@pytest.fixture
async def client(cluster: LocalCluster) -> AsyncIterator[aiohttp.ClientSession]:
    """Return an administrator's HTTP session whose base is the cluster."""
    async with session_for(cluster) as session:
        yield session
