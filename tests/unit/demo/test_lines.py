"""The demo as plain lines, and what it costs those who do not play it."""

import io
import subprocess
import sys

from manager.demo.lines import Lines
from manager.demo.pace import Pace, Pauses
from manager.demo.playbill import Playbill
from manager.demo.script import Narrator
from manager.demo.sightings import ClusterSighting, SightingKind


def printed(*, facts_only: bool) -> list[str]:
    out = io.StringIO()
    playbill = Playbill(Pace(Pauses()))
    playbill.see("worker-1", "batch-1 has stopped")
    playbill.say("nothing runs", "worker-1")
    playbill.say("nothing runs anywhere")
    lines = Lines(playbill, out)
    lines.flush(facts_only=facts_only)
    lines.flush(facts_only=facts_only)
    return [line.partition("s  ")[2] for line in out.getvalue().splitlines()]


async def test_each_line_is_printed_once() -> None:
    assert printed(facts_only=False) == [
        "worker-1  batch-1 has stopped",
        "worker-1  => nothing runs",
        "=> nothing runs anywhere",
    ]


async def test_a_recap_leaves_out_what_was_only_seen() -> None:
    assert printed(facts_only=True) == ["worker-1  => nothing runs", "=> nothing runs anywhere"]


def test_a_low_priority_job_is_worth_a_line_when_it_runs_again() -> None:
    narrator = Narrator()
    started = ClusterSighting(0, "worker-1", SightingKind.STARTED, "batch-1")

    assert narrator.tell(started) == ""
    assert (
        narrator.tell(ClusterSighting(0, "worker-1", SightingKind.EVICTED, "batch-1"))
        == "batch-1 is preempted and told to stop"
    )
    assert narrator.tell(started) == "batch-1 runs again"


def test_everything_that_can_be_seen_has_words() -> None:
    for what in SightingKind:
        assert "{" not in Narrator().tell(ClusterSighting(0, "worker-1", what, "urgent-a", "detail"))


def test_the_daemon_loads_neither_the_demo_nor_local_clusters() -> None:
    program = (
        "import sys, manager.cli.app, manager.app.service; "
        "sys.exit(', '.join({'localcluster', 'manager.demo'} & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
