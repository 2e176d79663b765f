"""Before a worker's credential ends it is told: by a metric, and once a day by the log."""

import asyncio
import base64
import json
from dataclasses import dataclass
from pathlib import Path

import yaml
from structlog.testing import capture_logs

from config.kubeconfig.access import ClientCertificate, ClusterAccess
from localcluster.access.auth import TokenUser
from localcluster.cluster import LocalCluster
from localcluster.serving.tls import issue_certificates
from manager.metrics.process import ProcessMetrics
from manager.upkeep.credential_expiry import CredentialWatch, credential_ends_ns
from tests.integration.orchestrator.kueue import Cluster
from tests.integration.orchestrator.world import World, world
from tests.support.scraping import scraping
from tests.support.virtual_time import VirtualClock
from tests.support.worker_names import W1, W2
from workerclient.questions.handshake import first_end

DAY = 24 * 3600


def jwt(exp: float) -> str:
    claims = base64.urlsafe_b64encode(json.dumps({"exp": exp}).encode()).decode().rstrip("=")
    return f"header.{claims}.signature"


def test_S10_the_earlier_of_token_and_certificate_counts() -> None:
    pem = issue_certificates("w1").server
    ends = first_end(pem)
    assert ends is not None
    certificate = ClientCertificate(pem, b"")
    assert credential_ends_ns(ClusterAccess("https://w")) is None
    assert credential_ends_ns(ClusterAccess("https://w", token="opaque")) is None
    assert credential_ends_ns(ClusterAccess("https://w", token=jwt(1000))) == 1000 * 10**9
    assert credential_ends_ns(ClusterAccess("https://w", client_certificate=certificate)) == ends
    both = ClusterAccess("https://w", token=jwt(1000), client_certificate=certificate)
    assert credential_ends_ns(both) == 1000 * 10**9
    assert credential_ends_ns(ClusterAccess("https://w", token_file=Path("/token"))) is None


def use_token(made: World, name: str, token: str) -> None:
    document = yaml.safe_load(made[name].kubeconfig())
    document["users"][0]["user"] = {"token": token}
    made.put_secret(name, yaml.safe_dump(document).encode())


async def test_S10_a_token_shows_when_it_ends(tmp_path: Path) -> None:
    async with world(tmp_path, "w1", prepared=False) as made:
        token = jwt(made.clock.now_ns() / 1e9 + 16 * DAY)
        local = LocalCluster("w2", tmp_path / "w2", users=[TokenUser("turnstile", token)])
        made.workers["w2"] = Cluster("w2", tmp_path / "w2", made.clock, local=local)
        await local.start()
        try:
            for name in ("w1", "w2"):
                made.add_cluster(name)
            use_token(made, "w2", token)
            daemon = await made.start()
            await made.connected()
            async with scraping(daemon, ProcessMetrics(made.clock.now_ns, None)) as scrape:
                found = await scrape()
            left = found.value("turnstile_worker_credential_expires_seconds", cluster="w2")
            assert left is not None
            assert abs(left - 16 * DAY) < 60
            assert found.value("turnstile_worker_credential_expires_seconds", cluster="w1") is None, "it does not say"
        finally:
            await made.stop()
            await local.stop()


@dataclass
class Place:
    access: ClusterAccess


async def test_S10_the_log_tells_once_a_day_of_a_token_that_ends_soon() -> None:
    clock = VirtualClock()
    token = jwt(clock.now_ns() / 1e9 + 15.5 * DAY)
    links = {
        W1: Place(ClusterAccess("https://w", token="opaque")),
        W2: Place(ClusterAccess("https://w", token=token)),
    }
    with capture_logs() as lines:
        task = asyncio.create_task(CredentialWatch(links, clock).run())
        await clock.advance(1.4 * DAY)
        assert lines == []
        await clock.advance(2.2 * DAY)
        task.cancel()
    assert [(each["event"], each["worker"], each["days_left"]) for each in lines] == [
        ("worker.credential_ends", "w2", 13),
        ("worker.credential_ends", "w2", 12),
        ("worker.credential_ends", "w2", 11),
    ]
    assert not any(token in str(line) for line in lines)
