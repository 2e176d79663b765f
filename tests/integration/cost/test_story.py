"""KEP-7990's story with a stand-in for Kueue: costs decide who is preempted, and the controller changes the costs."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from engine.cost.facts import CostFacts
from localcluster.kinds.columns import has_condition
from localcluster.kueue.profile import BOOSTING, CURRENT, KEP_7990, KueueProfile
from localcluster.sample_queues import NAMESPACE, QUEUE, worker_objects
from manager.cost.propagating import CostPropagation
from tests.integration.cost.world import BOOST, COST, CostWorld, cost_world, with_kueue
from tests.integration.orchestrator.kueue import KUEUE, Obj
from tests.support.job_builder import JobBuilder, job


def batch(name: str, priority: str = "low") -> JobBuilder:
    return job(name).queue(QUEUE).request(cpu=4).priority_class(priority).with_metadata(namespace=NAMESPACE)


class Story:
    """A queue of 8 cpu on a cluster with Kueue; every Job takes 4."""

    def __init__(self, world: CostWorld) -> None:
        self.world = world

    def submit(self, builder: JobBuilder) -> None:
        self.world.cluster.create("jobs", builder.raw, "batch", NAMESPACE)

    def job(self, name: str) -> Obj:
        return self.world.cluster.get("jobs", name, "batch", NAMESPACE)

    def cost(self, name: str) -> str | None:
        cost: str | None = (self.job(name)["metadata"].get("annotations") or {}).get(COST)
        return cost

    def annotations(self, name: str) -> Obj:
        """Return the annotations of the Workload of a Job."""
        store = self.world.cluster.store
        owned = (
            raw
            for raw in store.list(store.kind("workloads", KUEUE))
            if raw["metadata"]["ownerReferences"][0]["name"] == name
        )
        return next(owned)["metadata"].get("annotations") or {}

    def runs(self, name: str) -> bool:
        return bool(self.job(name).get("status", {}).get("active"))

    async def running(self, *names: str) -> None:
        """Wait until exactly these run, of those that are not over."""

        def met() -> bool:
            store = self.world.cluster.store
            jobs = store.list(store.kind("jobs", "batch"))
            return {raw["metadata"]["name"] for raw in jobs if raw.get("status", {}).get("active")} == set(names)

        await self.world.pass_until(met)

    async def started(self, *builders: JobBuilder) -> None:
        """Submit Jobs one after the other, a second apart, each when the one before it runs."""
        for builder in builders:
            self.submit(builder)
            await self.world.until(lambda name=builder.name: self.runs(name))  # type: ignore[misc]
            await self.world.clock.advance(1)


@asynccontextmanager
async def story(directory: Path, profile: KueueProfile) -> AsyncIterator[Story]:
    async with cost_world(directory, profile=profile) as world, with_kueue(world, profile):
        store = world.cluster.store
        kinds = {(each.kind.api_version, each.kind.kind): each.kind for each in store.ledger.collections.values()}
        for raw in worker_objects("8"):
            kind = kinds[raw["apiVersion"], raw["kind"]]
            world.cluster.create(kind.plural, raw, kind.group, raw["metadata"].get("namespace", ""))
        yield Story(world)


async def test_130_of_two_jobs_of_one_priority_the_cheaper_one_is_preempted(tmp_path: Path) -> None:
    async with story(tmp_path, KEP_7990) as it:
        await it.started(batch("cheap").annotate(COST, "1"), batch("dear").annotate(COST, "250"))
        it.submit(batch("urgent", "high"))
        await it.running("dear", "urgent")


async def test_130_kueue_without_the_kep_takes_the_latest(tmp_path: Path) -> None:
    async with story(tmp_path, CURRENT) as it:
        await it.started(batch("cheap").annotate(COST, "1"), batch("dear").annotate(COST, "250"))
        it.submit(batch("urgent", "high"))
        await it.running("cheap", "urgent")


async def test_a_preempted_job_becomes_dearer_and_the_order_turns(tmp_path: Path) -> None:
    async with story(tmp_path, KEP_7990) as it:
        await it.world.start()
        await it.started(batch("first"), batch("second"), batch("urgent", "high").runs(10))
        await it.running("first", "urgent")
        await it.world.until(lambda: it.cost("second") == "1")
        await it.world.pass_until(lambda: has_condition(it.job("urgent"), "Complete"))
        await it.running("first", "second")
        await it.world.settled()
        it.submit(batch("again", "high"))
        await it.running("second", "again")
        await it.world.until(lambda: it.cost("first") == "1")
        assert it.cost("again") is None


async def test_without_the_controller_the_same_job_is_preempted_again(tmp_path: Path) -> None:
    async with story(tmp_path, KEP_7990) as it:
        await it.started(batch("first"), batch("second"), batch("urgent", "high").runs(10))
        await it.world.pass_until(lambda: has_condition(it.job("urgent"), "Complete"))
        await it.running("first", "second")
        it.submit(batch("again", "high"))
        await it.running("first", "again")


def by_name(facts: CostFacts) -> int:
    return 250 if facts.job.name == "dear" else 0


async def test_the_bridge_makes_a_kueue_that_knows_boosts_only_take_the_cheaper_one(tmp_path: Path) -> None:
    async with story(tmp_path, BOOSTING) as it:
        it.world.model, it.world.propagation = by_name, CostPropagation(bridges=True)
        await it.world.start()
        await it.started(batch("cheap"), batch("dear"))
        await it.world.until(lambda: it.annotations("dear").get(BOOST) == "250")
        it.submit(batch("urgent", "high"))
        await it.running("dear", "urgent")
        assert BOOST not in it.annotations("cheap")


async def test_a_bridged_job_also_preempts_its_equals_which_is_what_the_warning_is_about(tmp_path: Path) -> None:
    async with story(tmp_path, BOOSTING) as it:
        it.world.model, it.world.propagation = by_name, CostPropagation(bridges=True)
        await it.world.start()
        await it.started(batch("one"), batch("two"))
        it.submit(batch("dear"))
        await it.running("one", "dear")
