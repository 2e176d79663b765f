"""What Prometheus sees of a running daemon, over HTTP, after stories whose outcome is known."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from localcluster.sample_queues import QUEUE
from manager.metrics.process import ProcessMetrics
from tests.integration.orchestrator.forecasting import forecasting, passing, queue, result, submit, tenant
from tests.integration.orchestrator.story import Story, story, work
from tests.integration.orchestrator.world import World, running
from tests.support.scraping import Scrape, scraping

Scraper = Callable[[], Awaitable[Scrape]]


@asynccontextmanager
async def scraper(world: World) -> AsyncIterator[Scraper]:
    assert world.daemon is not None
    async with scraping(world.daemon, ProcessMetrics(world.clock.now_ns, None)) as scrape:
        yield scrape


async def fill(told: Story, *clusters: str) -> None:
    for cluster in clusters:
        told.submit(cluster, work("low", 8))
    await told.until(lambda: all(told.holds(cluster, "low", "Admitted") for cluster in clusters))
    await told.settled()


async def test_a_preemption_on_one_of_two_workers_is_counted(tmp_path: Path) -> None:
    async with story(tmp_path) as told, scraper(told.world) as scrape:
        await fill(told, "w1", "w2")
        told.submit("hub", work("high", 8, "high"))
        await told.until(lambda: told.is_ready("high"))
        await told.settled()
        found = await scrape()

        for cluster in ("w1", "w2"):
            labels = {"cluster_queue": QUEUE, "cluster": cluster, "replica_role": "standalone"}
            assert found.value("multikueue_workloads_dispatched_total", **labels) == 1
        assert (
            found.value(
                "multikueue_workloads_admitted_total", cluster_queue=QUEUE, cluster="w1", replica_role="standalone"
            )
            == 1
        )
        assert found.value("turnstile_gate_openings_total", cluster="w1", reason="first") == 1
        assert found.value("turnstile_gate_openings_total", cluster="w2", reason="first") == 0
        assert found.value("turnstile_signal_to_open_seconds_count", cluster="w1") == 1
        assert found.value("turnstile_open_to_admission_seconds_count", cluster="w1") == 1
        assert found.value("turnstile_gates_open", cluster="w1") == 0, "it has its quota"
        assert found.value("turnstile_reconcile_duration_seconds_count") is not None
        assert found.value("turnstile_leader") == 1
        assert found.value("turnstile_hub_connected") == 1
        assert violations(found) == 0


async def test_a_stuck_preemption_shows_its_age_and_whose_turn_comes_next(tmp_path: Path) -> None:
    async with story(tmp_path) as told, scraper(told.world) as scrape:
        for cluster in ("w1", "w2"):
            told.submit(cluster, work("low", 8).stops_in(600))
        await told.until(lambda: all(told.holds(cluster, "low", "Admitted") for cluster in ("w1", "w2")))
        told.submit("hub", work("high", 8, "high"))
        await told.until(lambda: told.has("w1", "high") and told.gate("w1", "high") == "Open")
        await told.until(lambda: told.has("w2", "high") and told.asks("w2", "high"))
        await told.settled()
        found = await scrape()
        assert found.value("turnstile_gates_open", cluster="w1") == 1
        assert found.value("turnstile_gates_open", cluster="w2") == 0
        assert found.value("turnstile_gates_waiting", cluster="w2") == 1
        assert found.value("turnstile_workloads_waiting", cluster_queue=QUEUE) == 1
        waited = found.value("turnstile_workloads_longest_wait_seconds", cluster_queue=QUEUE)
        assert waited is not None

        await told.pass_time(20)
        found = await scrape()
        assert found.value("turnstile_workloads_longest_wait_seconds", cluster_queue=QUEUE) == waited + 20
        assert (await scrape()).value("turnstile_gates_oldest_open_seconds", cluster="w1") == 20

        await told.pass_time(15)
        found = await scrape()
        assert found.value("turnstile_gate_openings_total", cluster="w2", reason="turn_over") == 1
        assert found.value("turnstile_gates_open", cluster="w2") == 1
        assert found.value("turnstile_gates_waiting", cluster="w2") == 0
        bucket = {"cluster": "w2", "le": "60.0"}
        assert found.value("turnstile_signal_to_open_seconds_bucket", **bucket) == 1
        assert found.value("turnstile_signal_to_open_seconds_bucket", **{**bucket, "le": "10.0"}) == 0
        assert violations(found) == 0


async def test_a_rejected_workload_is_counted_by_its_queue_and_waits_no_more(tmp_path: Path) -> None:
    options = {"jobs": {"integrations": ["batch/job"], "ownerless_workloads": "Reject"}}
    async with running(tmp_path, "w1", **options) as world, scraper(world) as scrape:
        world.submit_ownerless()
        world.hub.reserve("wl")
        await world.until(lambda: world.check()["state"] == "Rejected")
        await world.settled()
        found = await scrape()
        assert found.value("turnstile_workloads_rejected_total", cluster_queue="cq") == 1
        assert found.value("turnstile_workloads_waiting", cluster_queue="cq") is None


async def test_an_exact_forecast_is_counted_with_its_victims(tmp_path: Path) -> None:
    async with (
        forecasting(tmp_path, {"w1": [queue(), tenant("a", 2), tenant("b", 2)]}) as world,
        scraper(world) as scrape,
    ):
        assert (await scrape()).value("turnstile_forecast_hit_ratio", cluster="w1") is None
        submit(world)
        await passing(world, lambda: world.check()["state"] == "Ready")
        await world.until(lambda: result(world) == "exact")
        await world.settled()
        found = await scrape()
        assert found.value("turnstile_forecast_verdicts_total", cluster="w1", verdict="Preempts") == 1
        assert found.value("turnstile_forecasts_total", cluster="w1", result="exact") == 1
        assert found.value("turnstile_victims_forecast_total", cluster="w1") == 2
        assert found.value("turnstile_victims_observed_total", cluster="w1") == 2
        assert found.value("turnstile_forecast_hit_ratio", cluster="w1") == 1
        assert found.value("turnstile_forecast_reliable", cluster="w1") == 1
        assert found.value("turnstile_forecast_available", cluster="w1") == 1


async def test_a_worker_that_is_lost_and_then_removed(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world, scraper(world) as scrape:
        world.queue()
        await world.settled()
        found = await scrape()
        assert found.value("turnstile_worker_connected", cluster="w2") == 1
        assert found.value("turnstile_worker_status", cluster="w2", status="Connected") == 1
        assert found.value("turnstile_worker_lost_seconds", cluster="w2") == 0
        assert found.value("turnstile_worker_request_budget_burst", cluster="w2") == 100
        assert found.value("turnstile_worker_requests_waiting", cluster="w2") == 0

        await world.cut("w2")
        lost_for = world.lost_for("w2")
        found = await scrape()
        assert found.value("turnstile_worker_connected", cluster="w2") == 0
        assert found.value("turnstile_worker_status", cluster="w2", status="Lost") == 1
        assert found.value("turnstile_worker_status", cluster="w2", status="Connected") == 0
        assert found.value("turnstile_worker_lost_seconds", cluster="w2") == lost_for
        assert found.value("turnstile_worker_connected", cluster="w1") == 1

        world.hub.delete("multikueueclusters", "w2", "kueue.x-k8s.io", "")
        await world.until(lambda: world.daemon is not None and "w2" not in world.daemon.fleet.links)
        found = await scrape()
        assert found.clusters() == {"w1"}, "its series are gone, counters too"


async def test_the_silence_of_a_watch_grows_until_something_is_heard(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as world, scraper(world) as scrape:
        await world.pass_time(20)
        silent = (await scrape()).value("turnstile_worker_watch_age_seconds", cluster="w1")
        assert silent is not None
        assert silent >= 20
        world.queue()
        await world.settled()
        assert (await scrape()).value("turnstile_worker_watch_age_seconds", cluster="w1") == 0


async def test_a_gate_that_another_client_opened_is_distinguished(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world, scraper(world) as scrape:
        world.queue()
        await world.settled()
        entry = {"name": "kueue.x-k8s.io/multikueue", "position": "Open", "lastTransitionTime": world["w2"].now()}
        world["w2"].set_status("wl", lambda status: status.update(preemptionGates=[entry]))
        await world.settled()
        found = await scrape()
        assert found.value("turnstile_gate_openings_total", cluster="w2", reason="foreign") == 1
        assert found.value("turnstile_gate_openings_total", cluster="w2", reason="first") == 0


async def test_two_running_copies_are_noticed_once(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world, scraper(world) as scrape:
        world.queue()
        await world.settled()
        world["w1"].admit()
        await world.settled()
        assert violations(await scrape()) == 0
        await world.cut("w1")
        await world.pass_time(16 * 60, settle=False)
        await world.settled()
        world.release_quota()
        world.requeue()
        world.give_check("wl")
        await world.settled()
        world["w2"].admit()
        await world.settled()
        assert violations(await scrape()) == 0
        await world.mend("w1")
        assert violations(await scrape()) == 1


async def test_the_whole_text_is_what_the_conventions_ask_for(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as world, scraper(world) as scrape:
        world.queue()
        await world.settled()
        found = await scrape()
        names = [family.name for family in found.families]
        assert len(names) == len(set(names)), "one family, one place"
        for family in found.families:
            assert family.documentation, family.name
            assert family.type in ("counter", "gauge", "histogram"), family.name
            assert re.match(r"(turnstile|multikueue|process|python)_", family.name)
            assert not family.name.endswith("_created")
        assert found.value("process_resident_memory_bytes") is not None
        assert found.value("python_gc_collections_total", generation="0") is not None
        assert found.value("turnstile_config_reloads_total", result="failure") == 0
        assert found.value("turnstile_config_last_reload_successful") == 1
        assert found.value("turnstile_config_last_reload_success_timestamp_seconds") == world.clock.now_ns() / 1e9


def violations(found: Scrape) -> float:
    counts = [s.value for f in found.families for s in f.samples if s.name == "turnstile_invariant_violations_total"]
    assert len(counts) == 3
    return sum(counts)
