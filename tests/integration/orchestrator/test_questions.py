"""However many ask, and whatever they ask: the daemon's loop goes on, and every answer is bounded.

That nothing keeps the loop for longer than 50 ms is checked at the end of every world.
"""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from config.api.identifiers import WorkerName
from config.names import KUEUE_API_VERSION
from gates.model.settings import SECOND
from gates.planning.limits import too_many_containers, too_many_pod_sets
from manager.process.work_budget import PlanBudget, WorkBudget
from manager.serving.parameters import limit_refused
from tests.integration.orchestrator.asking import Asker, asking, fill
from tests.integration.orchestrator.forecasting import forecasting, queue, submit, tenant
from tests.integration.orchestrator.kueue import NAMESPACE, Obj
from tests.integration.orchestrator.planning import open_hub, urgent_job
from tests.integration.orchestrator.world import World, running
from tests.support.builders import Builder
from tests.support.builders import workload as build_workload
from tests.unit.gates.groups import NOW
from tests.unit.manager.journals import look, write

MANY = 10_000
PAGE = 500


async def test_S1_lists_of_many_workloads_come_in_pages_and_block_no_other_work(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world, asking(world, tmp_path) as asker:
        names = fill(world, MANY)
        found, pages = await asker.all_of("workloads")
        assert [each["name"] for each in found] == names
        assert pages == MANY // PAGE
        gates, pages = await asker.all_of("gates")
        assert [(each["name"], each["worker"]) for each in gates] == [(n, w) for n in names for w in ("w1", "w2")]
        assert pages == 2 * MANY // PAGE
        assert await asker.all_of("forecasts") == ([], MANY // 5_000)
        assert await asker.all_of("workloads", namespace="other") == ([], 1)
        status, numbers = await asker.get("overview")
        assert (status, numbers["workloads"], numbers["gates"]) == (200, {"Queued": MANY}, {"Closed": 2 * MANY})
        assert await asker.get("jobs/Job/team/none") == (200, {"workloads": []})
        workers, pages = await asker.all_of("workers", limit="1")
        assert ([each["name"] for each in workers], pages) == (["w1", "w2"], 2)


async def test_S1_what_comes_and_goes_between_two_pages_is_neither_shown_twice_nor_an_error(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as world, asking(world, tmp_path) as asker:
        names = fill(world, 30)
        _, first = await asker.get("workloads", limit="10")
        assert ([each["name"] for each in first["workloads"]], first["continue"]) == (names[:10], f"team/{names[9]}")
        cache = world.running_daemon().hub.workloads.cache
        for name in (names[9], names[10]):
            identity = next(cache.identity(key) for key in cache if key.name == name)
            assert identity is not None
            cache.observe_deletion(identity)
        _, second = await asker.get("workloads", limit="10", **{"continue": first["continue"]})
        assert [each["name"] for each in second["workloads"]] == names[11:21]


@pytest.mark.parametrize(
    ("path", "query", "message"),
    [
        ("workloads", {"limit": "0"}, limit_refused("0", 500)),
        ("workloads", {"limit": "501"}, limit_refused("501", 500)),
        ("workloads", {"limit": "²"}, limit_refused("²", 500)),
        ("gates", {"continue": "x"}, "continue 'x' is not allowed: must be what an answer said"),
        ("workloads/team/wl/timeline", {"continue": "x"}, "continue 'x' is not allowed: must be what an answer said"),
        (
            "workloads/team/wl/timeline",
            {"continue": "9999999999999999999:u"},
            "continue '9999999999999999999:u' is not allowed: must be what an answer said",
        ),
    ],
)
async def test_S1_a_page_that_cannot_be_is_one_sentence(
    tmp_path: Path, path: str, query: dict[str, str], message: str
) -> None:
    async with running(tmp_path, "w1") as world, asking(world, tmp_path) as asker:
        assert await asker.get(path, **query) == (400, {"error": message})


# --- plans


def largest_workload() -> Obj:
    """Return a Workload at every limit, whose pod sets may all be smaller than asked for."""
    container = {"image": "i", "resources": {"requests": {"cpu": "1"}}}
    pod_sets = [
        {
            "name": f"p{number}",
            "count": 50,
            "minCount": 1,
            "template": {
                "spec": {
                    "restartPolicy": "Never",
                    "containers": [{**container, "name": f"c{index}"} for index in range(5)],
                    "tolerations": [{"key": f"k{index}", "operator": "Exists"} for index in range(200)],
                }
            },
        }
        for number in range(18)
    ]
    return {
        "apiVersion": KUEUE_API_VERSION,
        "kind": "Workload",
        "metadata": {"name": "largest", "namespace": NAMESPACE},
        "spec": {"queueName": "main", "priority": 1000, "podSets": pod_sets},
    }


def crowd(made: World, worker: str, count: int) -> None:
    """Let the daemon's model of a worker hold many Workloads that run, as if it watched them."""
    observation = made.running_daemon().fleet.links[WorkerName(worker)].observation
    assert observation is not None
    for number in range(count):
        raw = build_workload(f"t{number}").queue("main").priority(number % 100).request(cpu=1).holds("main").raw
        raw["metadata"]["namespace"] = NAMESPACE
        value = observation.cluster.read("Workload", raw)
        observation.cluster.put("Workload", NAMESPACE, f"t{number}", value)


async def test_S1_plans_in_a_crowd_block_no_other_work(tmp_path: Path) -> None:
    setting: dict[str, list[Builder]] = {"w1": [queue(500)], "w2": [queue(8)]}
    async with forecasting(tmp_path, setting) as made, asking(made, tmp_path) as asker:
        open_hub(made)
        crowd(made, "w1", 500)
        plans = [asyncio.create_task(asker.plan(urgent_job(pods=20, cpu=4))) for _ in range(40)]
        await made.until(lambda: sum(plan.done() for plan in plans) >= 35)
        assert (await asker.get("workers"))[0] == 200, "plans keep no list waiting"
        answers = await asyncio.gather(*plans)
        codes = [status for status, _ in answers]
        assert (codes.count(200), codes.count(429)) == (5, 35)
        refused = next(found for status, found in answers if status == 429)
        assert refused["error"].startswith("too many requests for plans: 1 at once and 4 that wait; ")


async def test_S1_a_job_at_every_limit_in_a_crowd_is_too_large_to_plan_and_blocks_no_other_work(tmp_path: Path) -> None:
    async with forecasting(tmp_path, {"w1": [queue(2000)]}) as made, asking(made, tmp_path) as asker:
        open_hub(made)
        crowd(made, "w1", 2000)
        made.running_daemon().inspector.planner.budget = lambda: PlanBudget(outlooks=WorkBudget(searches=20))
        why = "0 of 1 workers were looked at when the work that one plan may take was used up"
        assert await asker.plan(largest_workload()) == (422, {"error": f"this job is too large to plan: {why}"})


async def test_S1_sizes_that_take_too_much_work_cost_only_the_sizes(tmp_path: Path) -> None:
    async with forecasting(tmp_path, {"w1": [queue(40)], "w2": [queue(8)]}) as made, asking(made, tmp_path) as asker:
        open_hub(made)
        made.running_daemon().inspector.planner.budget = lambda: PlanBudget(sizes=WorkBudget(seconds=0.0))
        status, found = await asker.plan(urgent_job())
        assert (status, [each["verdict"] for each in found["workers"]]) == (200, ["Fits", "Fits"])
        note = "the largest sizes are not known: looking for them takes more than the work of one plan"
        assert all(note in each["notes"] for each in found["workers"])


def pod_sets(count: int, containers: int = 1, padding: int = 0, cpu: int = 0) -> list[Obj]:
    resources = {"resources": {"requests": {"cpu": str(cpu)}}} if cpu else {}
    each = [{"name": f"c{index}", "image": "i" + "x" * padding, **resources} for index in range(containers)]
    template = {"spec": {"restartPolicy": "Never", "containers": each}}
    return [{"name": f"p{number}", "count": 1, "template": template} for number in range(count)]


TOO_LARGE: dict[str, tuple[list[Obj], str]] = {
    "pod sets": (pod_sets(19), too_many_pod_sets("spec.podSets", 19)),
    "very many pod sets": (pod_sets(3000), too_many_pod_sets("spec.podSets", 3000)),
    "containers": (pod_sets(6, 17), too_many_containers("spec.podSets", 102)),
    "a template": (
        pod_sets(2, 1, 20_000),
        "spec.podSets[0].template has 20075 bytes: must be at most 16384",
    ),
}


@pytest.mark.parametrize("case", TOO_LARGE)
async def test_S1_a_job_that_is_too_large_is_refused_by_the_name_of_the_field(tmp_path: Path, case: str) -> None:
    sets, message = TOO_LARGE[case]
    async with forecasting(tmp_path, {"w1": [queue()]}) as made, asking(made, tmp_path) as asker:
        open_hub(made)
        document = largest_workload()
        document["spec"]["podSets"] = sets
        assert await asker.plan(document) == (400, {"error": message})
        padded = urgent_job()
        padded["metadata"]["annotations"] = {"a": "x" * (300 << 10)}
        status, refused = await asker.plan(padded)
        assert (status, refused["error"].split(" has ")[0]) == (400, "metadata.annotations")


async def test_S1_an_explanation_in_a_crowd_blocks_no_other_work(tmp_path: Path) -> None:
    setting: dict[str, list[Builder]] = {"w1": [queue(500)], "w2": [queue(8)]}
    options: Obj = {"dispatcher": {"mode": "External"}}
    async with forecasting(tmp_path, setting, **options) as made, asking(made, tmp_path) as asker:
        made.submit_ownerless("wl", podSets=pod_sets(18, cpu=25), priority=1000)
        made.hub.reserve("wl")
        await made.settled()
        crowd(made, "w1", 500)
        made.lag.forget()
        status, found = await asker.get("workloads/team/wl/explanation")
        assert (status, [each["name"] for each in found["workers"]]) == (200, ["w1", "w2"])
        forecast = found["workers"][0]["forecast"]
        assert (forecast["verdict"], forecast["cost"]["victims"]) == ("Preempts", 450)


# --- timelines


def long_story(path: Path, count: int) -> None:
    """Write a journal with so many decisions about one Workload."""
    write(path, *(look("wl", now_ns=NOW + number * SECOND) for number in range(count)))


async def test_S1_a_timeline_reads_the_newest_decisions_and_says_where_to_go_on(tmp_path: Path) -> None:
    journal = tmp_path / "journal.db"
    long_story(journal, 2100)
    async with running(tmp_path, "w1", journal={"path": str(journal)}) as world, asking(world, tmp_path) as asker:
        status, newest = await asker.get("workloads/ns/wl/timeline")
        assert status == 200
        opened = [each["time"] for each in newest["events"] if each["event"] == "GateOpened"]
        assert len(opened) == 2000
        _, older = await asker.get("workloads/ns/wl/timeline", **{"continue": newest["continue"]})
        before = [each["time"] for each in older["events"] if each["event"] == "GateOpened"]
        assert (len(before), older["continue"]) == (100, "")
        assert sorted({*opened, *before}) == [*before, *opened]


async def test_S1_who_goes_away_leaves_nothing_running(tmp_path: Path) -> None:
    journal = tmp_path / "journal.db"
    long_story(journal, 500)
    async with running(tmp_path, "w1", journal={"path": str(journal)}) as world, asking(world, tmp_path) as asker:
        turns = world.running_daemon().inspector.questions.timelines
        asked = [asyncio.create_task(asker.get("workloads/ns/wl/timeline")) for _ in range(5)]
        await world.until(lambda: turns.present == 5)
        assert (await asker.get("workloads/ns/wl/timeline"))[0] == 429
        for each in asked:
            each.cancel()
        await world.until(lambda: turns.present == 0)
        assert (await asker.get("workloads/ns/wl/timeline"))[0] == 200


# --- threads


class _Unused(ThreadPoolExecutor):
    """Threads that no question may use: names are looked up there."""

    def submit(self, *_args: Any, **_more: Any) -> Any:
        raise AssertionError("a question uses the loop's own threads")


async def test_S1_no_question_uses_the_threads_in_which_names_are_looked_up(tmp_path: Path) -> None:
    journal = tmp_path / "journal.db"
    long_story(journal, 3)
    setting = {"w1": [queue(), tenant("low")]}
    options: Obj = {"journal": {"path": str(journal)}, "dispatcher": {"mode": "External"}}
    async with forecasting(tmp_path, setting, **options) as made, asking(made, tmp_path) as asker:
        open_hub(made)
        submit(made, cpu=4)
        await made.settled()
        asyncio.get_running_loop().set_default_executor(_Unused(1))
        try:
            assert await answers(asker) == [200] * 6
        finally:
            asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(4))


async def answers(asker: Asker) -> list[int]:
    paths = ("workloads/ns/wl/timeline", "workloads/team/wl/explanation", "workers", "overview", "gates")
    return [(await asker.plan(urgent_job()))[0], *[(await asker.get(path))[0] for path in paths]]


async def test_S1_a_busy_resolver_keeps_no_kubeconfig_from_being_read(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        released = threading.Event()
        loop = asyncio.get_running_loop()
        stuck = [loop.run_in_executor(None, released.wait) for _ in range(64)]
        try:
            parser = world.running_daemon().fleet.loader.parser
            world.put_secret("w1", b"{}")
            await world.pass_until(lambda: parser.parsed == 3)
        finally:
            released.set()
            await asyncio.gather(*stuck)


async def test_S1_a_slow_timeline_holds_up_no_explanation(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as world, asking(world, tmp_path) as asker:
        world.queue()
        await world.settled()
        released = threading.Event()
        timelines = world.running_daemon().inspector.timelines
        slow = asyncio.create_task(timelines.run(lambda _: released.wait(60)))
        try:
            await asyncio.sleep(0)
            assert (await asker.get("workloads/team/wl/explanation"))[0] == 200
            assert not slow.done()
        finally:
            released.set()
            await slow
