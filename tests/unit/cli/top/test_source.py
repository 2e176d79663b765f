"""What `turnstile top` asks, and of whom."""

from pathlib import Path

import pytest

from manager.cli.conventions.daemon import DaemonClient, daemon_of
from manager.cli.conventions.errors import NoAnswerError
from manager.cli.conventions.options import DaemonOptions
from manager.cli.top.source import FleetQuestion, TopSource
from tests.support.foreign_text import BAD, unprintable
from tests.support.scripted_daemon import scripted_daemon
from tests.unit.cli.top.fleets import NOW, fleet


def test_options_are_read_again_after_a_refusal_because_tokens_expire(tmp_path: Path) -> None:
    made: list[DaemonClient] = []

    def connect() -> DaemonClient:
        made.append(daemon_of(DaemonOptions(socket=tmp_path / "s")))
        return made[-1]

    with scripted_daemon(tmp_path / "s", top=fleet()) as daemon:
        source = TopSource(connect, None)
        source.fleet(FleetQuestion())
        source.fleet(FleetQuestion())
        assert len(made) == 1
        fine = daemon.replies["top"]
        daemon.replies["top"] = lambda: (401, {"error": "expired"})
        with pytest.raises(NoAnswerError, match="expired"):
            source.fleet(FleetQuestion())
        daemon.replies["top"] = fine
        source.fleet(FleetQuestion())
        assert len(made) == 2


def test_a_busy_daemon_is_not_asked_again_at_once(tmp_path: Path) -> None:
    with scripted_daemon(tmp_path / "s") as daemon:
        daemon.replies["top"] = lambda: (429, {"error": "too many"})
        with pytest.raises(NoAnswerError):
            TopSource(lambda: daemon_of(DaemonOptions(socket=tmp_path / "s")), None).fleet(FleetQuestion())
        assert daemon.asked == ["top"]


def test_an_answer_that_is_not_understood_is_one_sentence(tmp_path: Path) -> None:
    known = fleet()
    with scripted_daemon(tmp_path / "s", **{"workers/w/quota": {}, "workloads/a/b/explanation": {}}) as daemon:
        source = TopSource(lambda: daemon_of(DaemonOptions(socket=tmp_path / "s")), None)
        for tell in (source.worker("w"), source.workload("a", "b")):
            with pytest.raises(NoAnswerError, match="is not understood"):
                tell()
        for part in known:
            broken = {key: value for key, value in known.items() if key != part}
            daemon.replies["top"] = lambda broken=broken: (200, broken)  # type: ignore[misc]
            with pytest.raises(NoAnswerError, match="is not understood"):
                source.fleet(FleetQuestion())


def test_lines_about_a_worker_are_printable(tmp_path: Path) -> None:
    row = dict.fromkeys(("clusterQueue", "cohort", "flavor", "resource", "nominal", "used"), BAD)
    answer = {"now": NOW, "quota": [{**row, "active": True, "share": 0.5}], "continue": "/x"}
    with scripted_daemon(tmp_path / "s", **{"workers/w/quota": answer}):
        lines = TopSource(lambda: daemon_of(DaemonOptions(socket=tmp_path / "s")), None).worker("w")()
    assert [unprintable(line) for line in lines if unprintable(line)] == []
    assert lines[-1] == "showing only the first ClusterQueues"
