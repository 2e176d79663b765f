"""Reads metrics as Prometheus does: over HTTP, by a parser."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import aiohttp
from prometheus_client.parser import text_string_to_metric_families

from config.sections.http import Http
from manager.app.daemon import Daemon
from manager.base.clock import SystemClock
from manager.metrics.process import ProcessMetrics
from manager.serving.endpoints import Endpoints
from tests.support.clusters import no_jitter
from workerclient.cluster import ClientContext


class Scrape:
    """What one scrape found."""

    def __init__(self, text: str) -> None:
        self.families = list(text_string_to_metric_families(text))

    def value(self, name: str, **labels: str) -> float | None:
        """Return the sample with exactly these labels; None if there is none."""
        found = [s for f in self.families for s in f.samples if s.name == name and s.labels == labels]
        assert len(found) < 2, f"{name} {labels} is there twice"
        return found[0].value if found else None

    def clusters(self) -> set[str]:
        """Return every worker that any series is about."""
        return {s.labels["cluster"] for f in self.families for s in f.samples if "cluster" in s.labels}


async def scraped(address: str) -> Scrape:
    """Scrape what listens there."""
    async with aiohttp.ClientSession(trust_env=False) as session, session.get(f"http://{address}/metrics") as answer:
        assert answer.status == 200
        assert answer.content_type == "text/plain"
        return Scrape(await answer.text())


@asynccontextmanager
async def scraping(daemon: Daemon, process: ProcessMetrics) -> AsyncIterator[Callable[[], Awaitable[Scrape]]]:
    """Serve a daemon's metrics as the service does, and return what scrapes them."""
    settings, client_context = Http(port=0), ClientContext(SystemClock(), no_jitter)
    async with Endpoints(settings, None, client_context).open(settings) as board:
        await board.show((*daemon.registries, process.registry), daemon.unready)
        yield lambda: scraped(board.addresses[0])
