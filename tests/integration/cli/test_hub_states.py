"""The hub's truth comes first in `explain` and `status`, in the same words with and without a daemon."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from config.api.meta import NANOSECONDS, format_time
from gates.reports.remedies import AS_THE_MESSAGE_ASKS, see_why_closed
from manager.cli.app import app
from manager.serving.socket_server import serve_api
from tests.integration.orchestrator.kueue import KUEUE, NAMESPACE, job
from tests.integration.orchestrator.world import CHECK, World, running

TOO_LARGE = (
    "couldn't assign flavors to pod set main: insufficient quota for cpu in flavor f, "
    "previously considered podsets requests (0) + current podset request (100) > maximum capacity (16)"
)
NO_ROOM = "couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor f, 4 more needed"
ACTIVATE = """kubectl -n team patch workload wl --type merge -p '{"spec":{"active":true}}'"""


def without_managed_by(made: World) -> None:
    owner = made.hub.create("jobs", job("job-wl", managed_by=None), "batch", NAMESPACE)
    made.submit(owner=owner)


def unreserved(reason: str, message: str) -> Callable[[World], None]:
    def submit(made: World) -> None:
        made.submit()
        made.hub.set_condition("wl", "QuotaReserved", "False", reason, message)

    return submit


def deactivated(made: World) -> None:
    made.submit()
    made.hub.change("workloads", "wl", lambda raw: raw["spec"].update(active=False), KUEUE)
    made.hub.set_condition("wl", "Evicted", "True", "Deactivated", "The workload is deactivated")


def rejected_by_another(made: World) -> None:
    made.queue()
    made.give_check("wl", "budget", "Rejected")


def backing_off(made: World) -> None:
    made.submit()
    made.hub.set_condition("wl", "Evicted", "True", "PodsReadyTimeout", "Exceeded the PodsReady timeout team/wl")
    at = format_time(made.clock.now_ns() + 40 * NANOSECONDS)
    made.hub.set_status("wl", lambda status: status.update(requeueState={"count": 1, "requeueAt": at}))


def evicted(made: World) -> None:
    made.queue()
    made.evict_on_hub()


def waiting_for_a_check(made: World) -> None:
    made.submit()
    made.give_check("wl", "budget")
    entry = {"name": "budget", "state": "Pending", "message": "asks for money", "lastTransitionTime": made.hub.now()}
    made.hub.set_status("wl", lambda status: status["admissionChecks"].__setitem__(-1, entry))
    made.hub.reserve("wl")


def finished(made: World) -> None:
    made.submit()
    made.hub.finish()


def without_check(made: World) -> None:
    made.submit(check="other")
    made.hub.reserve("wl")


@dataclass(frozen=True)
class Row:
    """A state of the hub, and what the screens say about it."""

    make: Callable[[World], object]
    phase: str
    state: str
    reason: str
    next: str


NOTHING_UNTIL = "nothing, until this is done:"
ROWS = {
    "a job without managedBy": Row(
        without_managed_by,
        "Rejected",
        "rejected by admission check mk",
        'The owner is not managed by Kueue: Expecting spec.managedBy to be "kueue.x-k8s.io/multikueue" not "", '
        'Previously: "Pending"',
        f"{NOTHING_UNTIL} delete the Job and create it again with spec.managedBy: kueue.x-k8s.io/multikueue",
    ),
    "another check rejected it": Row(
        rejected_by_another,
        "Rejected",
        "rejected by admission check budget",
        "",
        f"{NOTHING_UNTIL} {AS_THE_MESSAGE_ASKS}: {ACTIVATE}",
    ),
    "too large for the hub's queue": Row(
        unreserved("Pending", TOO_LARGE),
        "Inadmissible",
        "too large for its queue on the hub",
        TOO_LARGE,
        f"{NOTHING_UNTIL} request less, or raise the quota of the ClusterQueue behind LocalQueue main on the hub",
    ),
    "too large, by Kueue's own reason": Row(
        unreserved("ExceedsMaxQuota", "it is too large"),
        "Inadmissible",
        "too large for its queue on the hub",
        "it is too large",
        f"{NOTHING_UNTIL} request less, or raise the quota of the ClusterQueue behind LocalQueue main on the hub",
    ),
    "waiting for quota": Row(
        unreserved("Pending", NO_ROOM),
        "Queued",
        "waits for quota on the hub",
        NO_ROOM,
        "it is sent to workers once the hub has reserved quota for it",
    ),
    "just submitted": Row(
        lambda made: made.submit(),
        "Queued",
        "waits for quota on the hub",
        "",
        "it is sent to workers once the hub has reserved quota for it",
    ),
    "the LocalQueue is missing": Row(
        unreserved("Inadmissible", "LocalQueue main doesn't exist"),
        "Inadmissible",
        "its queue on the hub admits nothing",
        "LocalQueue main doesn't exist",
        f"{NOTHING_UNTIL} create LocalQueue main in namespace team of the hub, or name another one on the job",
    ),
    "the LocalQueue is stopped": Row(
        unreserved("Suspended", "LocalQueue main is inactive"),
        "Inadmissible",
        "its queue on the hub admits nothing",
        "LocalQueue main is inactive",
        f"{NOTHING_UNTIL} see why it is not active: kubectl -n team describe localqueue main",
    ),
    "the ClusterQueue is stopped": Row(
        unreserved("Inadmissible", "ClusterQueue cq is inactive"),
        "Inadmissible",
        "its queue on the hub admits nothing",
        "ClusterQueue cq is inactive",
        f"{NOTHING_UNTIL} {see_why_closed('cq')}",
    ),
    "deactivated": Row(
        deactivated,
        "Deactivated",
        "deactivated by localcluster 0s ago: spec.active is false",
        "The workload is deactivated",
        f"{NOTHING_UNTIL} activate it: {ACTIVATE}",
    ),
    "evicted, and kept out of the queue for a while": Row(
        backing_off,
        "BackOff",
        "evicted 0s ago, waits before it is queued again",
        "Exceeded the PodsReady timeout team/wl",
        "the hub queues it again in 40s",
    ),
    "being evicted": Row(
        evicted,
        "Evicted",
        "evicted on the hub, its job is being stopped",
        "Preempted to accommodate a workload",
        "the hub queues it again",
    ),
    "another check is pending": Row(
        waiting_for_a_check,
        "Pending",
        "has quota on the hub, waits for other admission checks",
        "budget is Pending: asks for money",
        "it is sent to workers once the other admission checks are Ready",
    ),
    "finished": Row(finished, "Finished", "finished 0s ago", "Job finished successfully", "nothing"),
    "without a check of MultiKueue": Row(
        without_check,
        "NoCheck",
        "has no MultiKueue admission check",
        "",
        "nothing: without that check it is not sent to workers",
    ),
}


@dataclass
class Sources:
    """Runs commands, by the daemon and by the hub alone."""

    made: World
    socket: Path

    async def both(self, *arguments: str) -> list[Result]:
        """Return what the daemon answers, and what the hub does."""
        hub = ("--kubeconfig", str(self.made.hub.local.kubeconfig_path), "--socket", f"{self.socket}-none")
        commands = ([*arguments, "--socket", str(self.socket)], [*arguments, *hub])
        runner = CliRunner(env={"HOME": "/none", "KUBECONFIG": ""})
        found = [await asyncio.to_thread(runner.invoke, app, command) for command in commands]
        assert [each.exit_code for each in found] == [0, 0], [each.output for each in found]
        return found


@asynccontextmanager
async def both_sources(made: World, directory: Path) -> AsyncIterator[Sources]:
    assert made.daemon is not None
    socket = directory / "s"
    async with asyncio.TaskGroup() as group:
        serving = group.create_task(serve_api(socket, made.daemon.inspector))
        await made.until(socket.is_socket)
        yield Sources(made, socket)
        serving.cancel()


def facts(screen: str) -> dict[str, str]:
    lines = screen.partition("\n\n")[0].splitlines()[1:]
    return {line[:8].strip(): line[10:] for line in lines}


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
async def test_the_hubs_truth_comes_first_from_both_sources(tmp_path: Path, row: Row) -> None:
    async with running(tmp_path, "w1", "w2") as made:
        row.make(made)
        await made.settled()
        async with both_sources(made, tmp_path) as sources:
            for result in await sources.both("explain", "team/wl"):
                told = facts(result.stdout)
                want = (row.state, row.reason, row.next)
                assert (told["state"], told.get("reason", ""), told["next"]) == want
                assert "rule" not in result.stdout
                assert "WORKER" not in result.stdout, "no worker is concerned"
            documents = [json.loads(each.stdout) for each in await sources.both("explain", "team/wl", "-o", "json")]
            by_daemon, by_hub = ({key: each[key] for key in ("phase", "state")} for each in documents)
            assert by_daemon == by_hub
            assert by_daemon["phase"] == row.phase
            assert by_daemon["state"]["message"] == row.reason
            for result in await sources.both("status", "workloads", "-A", "-o", "json"):
                listed = json.loads(result.stdout)["items"]
                assert [(each["phase"], each["message"]) for each in listed] == (
                    [] if row.phase in ("Finished", "NoCheck") else [(row.phase, row.reason)]
                )


def test_there_is_a_row_for_every_state() -> None:
    phases = {
        "Rejected",
        "Inadmissible",
        "Queued",
        "Deactivated",
        "BackOff",
        "Evicted",
        "Pending",
        "Finished",
        "NoCheck",
    }
    assert {row.phase for row in ROWS.values()} == phases


async def test_what_runs_is_told_alike(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as made:
        made.queue()
        await made.until(made["w1"].has_workload)
        made["w1"].admit()
        await made.until(lambda: made.check()["state"] == "Ready")
        await made.settled()
        assert made.check()["name"] == CHECK
        async with both_sources(made, tmp_path) as sources:
            for result in await sources.both("explain", "team/wl"):
                told = facts(result.stdout)
                assert told["state"] == "admission check mk is Ready, runs on w1"
                assert told["next"] == "the hub's job follows the one on w1 until it ends"


async def test_lists_explanations_and_the_check_agree_on_when_a_window_ends(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as made:
        await made.pass_time(0.4)  # objects have whole seconds, openings have not
        made.queue()
        await made.until(made["w1"].has_workload)
        made["w1"].block()
        await made.until(lambda: made["w1"].gate() == "Open")
        await made.settled()
        message = made.check()["message"]
        async with both_sources(made, tmp_path) as sources:
            explained = [json.loads(each.stdout) for each in await sources.both("explain", "team/wl", "-o", "json")]
            listed = [json.loads(each.stdout) for each in await sources.both("status", "gates", "-A", "-o", "json")]
            ((told,), (by_hub,)) = (each["gates"] for each in explained)
            assert by_hub == {**told, "windowEnds": ""}, "only the daemon knows the timeout"
            opened = [item for each in listed for item in each["items"] if item["gate"] == "Open"]
            assert [(each["opened"], each["windowEnds"]) for each in opened] == [
                (told["opened"], told["windowEnds"]),
                (told["opened"], ""),
            ]
            assert f"gate open: w1 since {told['opened']}" in message
            assert f"the window of w1 ends at {told['windowEnds']}" in message
            assert explained[0]["next"]["at"] == told["windowEnds"]
