"""A cluster that stops has nothing to say about requests that are cut short by it."""

import asyncio
import logging
import ssl
from datetime import UTC, datetime
from pathlib import Path

import aiohttp
import pytest

from localcluster.cluster import LocalCluster
from localcluster.kinds.clock import ManualClock
from localcluster.serving.faults import Latency
from tests.unit.localcluster.serving import until


@pytest.mark.parametrize("query", ["?watch=true", ""], ids=["a watch", "a list"])
async def test_an_answer_that_begins_as_the_cluster_stops_is_not_an_error(
    tmp_path: Path, query: str, caplog: pytest.LogCaptureFixture
) -> None:
    clock = ManualClock(datetime(2026, 1, 2, tzinfo=UTC))
    cluster = LocalCluster("hub", tmp_path, clock=clock)
    await cluster.start()
    cluster.faults.add(Latency(5), plural="namespaces")
    tls = ssl.create_default_context(cadata=cluster.ca_file.read_text())
    headers = {"Authorization": f"Bearer {cluster.token}"}
    connector = aiohttp.TCPConnector(ssl=tls)
    async with aiohttp.ClientSession(connector=connector, headers=headers, trust_env=False) as session:
        asked = asyncio.create_task(session.get(f"{cluster.url}/api/v1/namespaces{query}"))
        await until(clock.has_alarms)
        with caplog.at_level(logging.DEBUG):
            clock.advance(5)  # the answer is about to begin
            await cluster.stop()
            with pytest.raises(aiohttp.ClientConnectionError):
                await asked
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []
