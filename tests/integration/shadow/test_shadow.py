"""The shadow beside another controller: what it sees, what it says, and that it writes nothing."""

from pathlib import Path

import pytest

from config.api.meta import ObjectKey
from engine.forecasting.verification import ForecastResult
from gates.model.settings import GatePolicy
from gates.model.view import Reach
from gates.shadow.hindsight import PreemptionCost, charged
from localcluster.cluster import Partition
from localcluster.kueue.profile import CURRENT, GATES_OFF, KueueProfile
from manager.serving.ranking import RankRequest
from manager.shadow.episode_log import EpisodeLog
from manager.shadow.report import report_of
from tests.integration.orchestrator.forecasting import pods, queue, tenant
from tests.integration.orchestrator.kueue import KUEUE
from tests.integration.shadow.world import EMPTY, ShadowWorld, shadowing
from tests.support.builders import Builder
from tests.support.worker_names import W1
from workerclient.base.errors import Fenced
from workerclient.objects.resource import Precondition

FULL: list[Builder] = [queue(), tenant("low")]
DEARER: list[Builder] = [queue(), tenant("low-a", 2), tenant("low-b", 2)]
STUBBORN: list[Builder] = [
    queue(),
    tenant("low").annotate("localcluster.multikueue-turnstile.dev/stop-seconds", "never"),
]


async def occupied(world: ShadowWorld, **victims: str) -> None:
    """Wait until the workers' own work runs, and has run for a while."""
    for name, listed in victims.items():
        for victim in listed.split():
            await world.passing(lambda name=name, victim=victim: world.is_admitted(name, victim))  # type: ignore[misc]
    await world.run_on(60)


async def asked(world: ShadowWorld, *names: str) -> None:
    await world.passing(lambda: all(world.asks(name) for name in names))


def chosen(world: ShadowWorld, policy: GatePolicy) -> tuple[str, PreemptionCost | None]:
    (choice,) = [each for each in world.episode.choices if each.policy is policy]
    return choice.cluster, charged(world.episode, choice)


async def test_an_opening_by_another_controller_is_forecast_and_verified(tmp_path: Path) -> None:
    async with shadowing(tmp_path, {"w1": FULL, "w2": FULL}) as world:
        await occupied(world, w1="low", w2="low")
        world.submit()
        world.dispatch("w1", "w2")
        await asked(world, "w1", "w2")
        world.open("w2")
        await world.passing(lambda: world.is_admitted("w2"))
        await world.passing(lambda: world.is_settled)

        (start,) = world.episode.starts
        assert (start.cluster, start.gated, start.result) == ("w2", True, ForecastResult.EXACT), start
        (loss,) = start.losses
        assert (loss.workload, loss.reason, loss.pods) == ("team/low", "InClusterQueue", 1)
        assert 60 <= loss.seconds <= 70
        assert world.episode.breaches == ()
        for policy in GatePolicy:  # the other worker would have cost the same, so no policy spares anything
            cluster, cost = chosen(world, policy)
            assert cluster
            assert cost is not None
            assert cost.victims == 1


async def test_what_a_cheaper_worker_would_have_spared_is_told(tmp_path: Path) -> None:
    async with shadowing(tmp_path, {"w1": DEARER, "w2": FULL}) as world:
        await occupied(world, w1="low-a low-b", w2="low")
        world.submit()
        world.dispatch("w1", "w2")
        await asked(world, "w1", "w2")
        world.open("w1")
        await world.passing(lambda: world.is_admitted("w1"))
        await world.passing(lambda: world.is_settled)

        assert world.episode.caused.victims == 2
        assert chosen(world, GatePolicy.FIRST_COME_FIRST_SERVED) == ("w1", world.episode.caused)
        cluster, cost = chosen(world, GatePolicy.LEAST_DISRUPTION)
        assert cluster == "w2"
        assert cost is not None
        assert (cost.victims, cost.pods) == (1, 1)
        totals = report_of(world.episodes)["totals"]
        spared = {each["policy"]: each["spared"]["victims"] for each in totals["policies"]}
        assert spared == {"FirstComeFirstServed": 0, "LeastDisruption": 1, "PreferNoPreemption": 0}


async def test_a_worker_with_room_would_have_spared_everybody(tmp_path: Path) -> None:
    """The other controller sent the copy there last, after a gate was opened."""
    async with shadowing(tmp_path, {"w1": FULL, "w2": EMPTY}) as world:
        await occupied(world, w1="low")
        world.submit()
        world.dispatch("w1")
        await asked(world, "w1")
        world.open("w1")
        await world.passing(lambda: world.is_admitted("w1"))
        await world.passing(lambda: world.is_settled)
        assert chosen(world, GatePolicy.FIRST_COME_FIRST_SERVED) == ("w1", world.episode.caused)
        assert chosen(world, GatePolicy.LEAST_DISRUPTION) == ("w2", PreemptionCost())
        assert chosen(world, GatePolicy.PREFER_NO_PREEMPTION) == ("w2", PreemptionCost())


async def test_S1_a_forecast_that_takes_long_blocks_no_other_work_and_is_verified(tmp_path: Path) -> None:
    victims, stop = 36, "localcluster.multikueue-turnstile.dev/stop-seconds"
    objects: list[Builder] = [queue(victims).quota("g", cpu=1)]
    objects += [tenant(f"t{number}", 1, number).annotate(stop, "20") for number in range(victims)]
    async with shadowing(tmp_path, {"w1": objects}) as world:
        await occupied(world, w1=f"t0 t{victims - 1}")
        [pod_set] = pods(2)
        pod_sets = [{**pod_set, "name": f"p{number}"} for number in range(18)]
        world.clusters.submit_ownerless("wl", podSets=pod_sets, priority=100)
        world.hub.reserve("wl")
        world.dispatch("w1")
        await asked(world, "w1")
        assert world.shadow is not None
        observation = world.shadow.fleet.links[W1].observation
        assert observation is not None
        await world.until(lambda: observation.background.is_idle)
        world.open("w1")
        await world.passing(lambda: world.is_admitted("w1"), 5)
        await world.passing(lambda: world.is_settled)
        (start,) = world.episode.starts
        assert (start.result, len(start.losses)) == (ForecastResult.EXACT, victims), start


async def opened_one_after_the_other(world: ShadowWorld, *, seconds_between: int) -> None:
    """Let Kueue open two gates, and the second worker admit."""
    await occupied(world, w1="low", w2="low")
    world.submit()
    world.dispatch("w1", "w2")
    await asked(world, "w1", "w2")
    world.open("w1")
    await world.run_on(seconds_between)
    world.open("w2")
    await world.passing(lambda: world.is_admitted("w2"))
    await world.passing(lambda: world.is_settled, 5)


async def test_two_gates_within_one_timeout_break_the_rule(tmp_path: Path) -> None:
    async with shadowing(tmp_path, {"w1": STUBBORN, "w2": FULL}) as world:
        await opened_one_after_the_other(world, seconds_between=30)

        (breach,) = world.episode.breaches
        assert (breach.first, breach.second, breach.gated) == ("w1", "w2", True)
        assert breach.second_ns - breach.first_ns == pytest.approx(30e9, abs=3e9)
        results = {start.cluster: start.result for start in world.episode.starts}
        assert results == {"w1": ForecastResult.TIMEOUT, "w2": ForecastResult.EXACT}
        assert world.episode.caused.victims == 2
        registry = world.shadow.metrics.registry if world.shadow is not None else None
        assert registry is not None
        assert registry.get_sample_value("turnstile_shadow_breaches_total", {"gated": "true"}) == 1
        started = {"cluster": "w1", "gated": "true"}
        assert registry.get_sample_value("turnstile_shadow_starts_total", started) == 1
        verified = {"cluster": "w2", "result": "exact"}
        assert registry.get_sample_value("turnstile_shadow_forecasts_total", verified) == 1
        assert registry.get_sample_value("turnstile_shadow_victims_total", {"cluster": "w2"}) == 1
        spared = registry.get_sample_value("turnstile_shadow_spared_victims", {"policy": "FirstComeFirstServed"})
        assert spared == 0


async def test_the_next_gate_after_the_timeout_keeps_the_rule(tmp_path: Path) -> None:
    async with shadowing(tmp_path, {"w1": STUBBORN, "w2": FULL}) as world:
        await opened_one_after_the_other(world, seconds_between=301)
        assert [start.cluster for start in world.episode.starts] == ["w1", "w2"]
        assert world.episode.breaches == ()


async def test_a_worker_that_cannot_be_seen_is_remembered(tmp_path: Path) -> None:
    """Kueue forgets an opening on a cluster that it lost, and opens the next gate at once."""
    async with shadowing(tmp_path, {"w1": STUBBORN, "w2": FULL}) as world:
        await occupied(world, w1="low", w2="low")
        world.submit()
        world.dispatch("w1", "w2")
        await asked(world, "w1", "w2")
        world.open("w1")
        await world.passing(lambda: len(list(world.episodes)) == 1)
        await world["w1"].local.partition(Partition.REFUSED)
        shadow = world.shadow
        assert shadow is not None
        await world.passing(lambda: shadow.fleet.links[W1].reach(None) is Reach.LOST)
        world.open("w2")
        await world.passing(lambda: len(world.episode.breaches) == 1)
        assert world.episode.breaches[0].second == "w2"


UNGATED: dict[str, tuple[bool, KueueProfile]] = {
    "copies without gates": (False, CURRENT),
    "gates that the workers' Kueue does not honour": (True, GATES_OFF),
}


@pytest.mark.parametrize(("gated", "profile"), UNGATED.values(), ids=UNGATED)
async def test_without_gates_every_worker_preempts_and_that_is_told(
    tmp_path: Path, gated: bool, profile: KueueProfile
) -> None:
    profiles = {"w1": profile, "w2": profile}
    async with shadowing(tmp_path, {"w1": FULL, "w2": DEARER}, profiles=profiles) as world:
        await occupied(world, w1="low", w2="low-a low-b")
        world.submit()
        world.dispatch("w1", "w2", gated=gated)
        await world.passing(lambda: world.is_admitted("w1") and world.is_admitted("w2"))
        await world.passing(lambda: len(list(world.episodes)) == 1 and len(world.episode.starts) == 2, 5)
        world.withdraw("w2")
        await world.passing(lambda: world.is_settled)

        assert world.episode.caused.victims == 3
        (breach,) = world.episode.breaches
        assert {breach.first, breach.second} == {"w1", "w2"}
        assert not breach.gated
        assert chosen(world, GatePolicy.LEAST_DISRUPTION)[0] == "w1"
        spared = {each["policy"]: each["spared"]["victims"] for each in report_of(world.episodes)["totals"]["policies"]}
        assert spared["LeastDisruption"] == 2
        assert spared["FirstComeFirstServed"] >= 1


async def test_a_copy_without_a_gate_that_preempts_nothing_is_no_episode(tmp_path: Path) -> None:
    async with shadowing(tmp_path, {"w1": EMPTY}) as world:
        world.submit()
        world.dispatch("w1", gated=False)
        await world.passing(lambda: world.is_admitted("w1"))
        await world.run_on(10)
        assert list(world.episodes) == []


async def test_only_gets_and_the_lease_reach_the_clusters(tmp_path: Path) -> None:
    async with shadowing(tmp_path, {"w1": FULL, "w2": FULL}) as world:
        await occupied(world, w1="low", w2="low")
        world.submit()
        world.dispatch("w1", "w2")
        await asked(world, "w1", "w2")
        world.open("w2")
        await world.passing(lambda: world.is_admitted("w2"))
        await world.passing(lambda: world.is_settled)
        world.withdraw("w1", "w2")
        world.hub.delete("workloads", "wl", KUEUE)
        await world.run_on(120)

        for cluster in (world.hub, *world.clusters.workers.values()):
            asked_for = cluster.local.traffic.counts()
            assert asked_for
            writes = {asked for asked in asked_for if asked.verb not in ("get", "list", "watch", "head")}
            assert {asked.resource for asked in writes} <= ({"leases"} if cluster is world.hub else set()), writes
        assert world.hub.find("leases", "turnstile-shadow", "coordination.k8s.io", "turnstile-system") is not None


async def test_a_write_cannot_leave_whatever_the_code_asks_for(tmp_path: Path) -> None:
    async with shadowing(tmp_path, {"w1": FULL}) as world:
        shadow = world.shadow
        assert shadow is not None
        for client in (shadow.hub.workloads.resource, shadow.fleet.links[W1].workloads.resource):
            with pytest.raises(Fenced, match="this instance only reads"):
                await client.delete(ObjectKey("team", "low"), Precondition("uid"))
        with pytest.raises(Fenced, match="this instance only reads"):  # not even a review, which stores nothing
            await shadow.hub.client.missing_permissions(())


async def test_what_was_seen_before_a_restart_is_gone_on_with(tmp_path: Path) -> None:
    async with shadowing(tmp_path, {"w1": STUBBORN, "w2": FULL}) as world:
        await occupied(world, w1="low", w2="low")
        world.submit()
        world.dispatch("w1", "w2")
        await asked(world, "w1", "w2")
        world.open("w1")
        await world.passing(lambda: len(list(world.episodes)) == 1 and bool(world.episode.caused.victims))
        await world.stop()
        world.episodes = EpisodeLog(world.told)
        await world.start()
        await world.run_on(5)
        assert len(world.episode.starts) == 1
        world.open("w2")
        await world.passing(lambda: len(world.episode.breaches) == 1)


async def test_the_inspector_answers_as_ever(tmp_path: Path) -> None:
    async with shadowing(tmp_path, {"w1": FULL, "w2": EMPTY}) as world:
        await occupied(world, w1="low")
        world.submit()
        world.dispatch("w1")
        await asked(world, "w1")
        shadow = world.shadow
        assert shadow is not None
        found = await shadow.inspector.explain(ObjectKey("team", "wl"))
        assert found is not None
        would = {each["name"]: each["forecast"] for each in found["workers"]}
        assert (would["w1"]["verdict"], would["w1"]["cost"]["victims"]) == ("Preempts", 1)
        assert would["w2"]["verdict"] == "Fits"
        assert [each["name"] for each in shadow.inspector.workers()] == ["w1", "w2"]
        live = await shadow.inspector.live.document(RankRequest())
        assert (live["daemon"]["isShadow"], live["daemon"]["acts"]) == (True, False)
        assert [lane["worker"] for lane in live["workloads"]["items"][0]["lanes"]] == ["w1", "w2"]
        assert [each["quota"]["state"] for each in live["workers"]["items"]] == ["Followed", "Followed"]
        report = shadow.inspector.shadow()
        assert report is not None
        assert report() == {"observes": True, "problems": [], **report_of(world.episodes)}
