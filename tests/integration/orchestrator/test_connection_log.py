"""What the log says about clusters that come and go."""

from pathlib import Path

from structlog.testing import capture_logs

from localcluster.cluster import Partition
from tests.integration.orchestrator.world import running

CONNECTIONS = ("hub.connected", "hub.lost", "worker.connected", "worker.lost")


async def test_a_worker_that_is_lost_is_a_warning_with_the_error(tmp_path: Path) -> None:
    with capture_logs() as logs:
        async with running(tmp_path, "w1") as made:
            await made.settled()
            await made["w1"].local.partition(Partition.REFUSED)
            await made.pass_time(30)
            await made["w1"].local.heal()
            await made.pass_time(60)
            await made.connected("w1")
    told = [line for line in logs if line["event"] in CONNECTIONS]
    assert [(line["event"], line["log_level"]) for line in told] == [
        ("hub.connected", "info"),
        ("worker.connected", "info"),
        ("worker.lost", "warning"),
        ("worker.connected", "info"),
    ], "later reasons of one loss are not repeated, and a clean stop loses nothing"
    assert told[1] == {"event": "worker.connected", "log_level": "info", "worker": "w1", "message": "Connected"}
    assert "Cannot connect to host" in told[2]["error"]
