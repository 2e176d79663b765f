"""Whole stories with a Kueue on every cluster: what gates are for, scenarios MK-74 to 80, 93 and 94.

Each worker has room for 8 CPUs. T is the preemption timeout, 30 seconds.
"""

from pathlib import Path
from typing import Any

import pytest

from config.names import MULTIKUEUE_NAME
from gates.model import marks
from localcluster.kueue.profile import BEFORE_GATES, CURRENT, KEP_8303, KueueProfile
from localcluster.sample_queues import FLAVOR, NAMESPACE, QUEUE
from tests.integration.orchestrator.kueue import workload
from tests.integration.orchestrator.story import SIGNALS, Story, story, work
from tests.support.builders import Builder

T = 30
GATED = "Workload requires preemption, but it's gated"
DIALECTS = [
    pytest.param({"w1": CURRENT, "w2": CURRENT}, id="kueue"),
    pytest.param({"w1": KEP_8303, "w2": KEP_8303}, id="kep"),
    pytest.param({"w1": CURRENT, "w2": KEP_8303}, id="one of each"),
]
Profiles = dict[str, KueueProfile]


async def fill(told: Story, *clusters: str, cpu: int = 8, priority: str = "low", **stop: int) -> None:
    """Let every worker run one job, of low priority unless told otherwise."""
    for cluster in clusters:
        low = work("low", cpu, priority)
        told.submit(cluster, low.stops_in(stop["stops_in"]) if stop else low)
    await told.until(lambda: all(told.holds(cluster, "low", "Admitted") for cluster in clusters))
    await told.settled()


def remote_job(told: Story, cluster: str, name: str) -> Any:
    store = told[cluster].store
    found = store.collection(store.kind("jobs", "batch")).get((NAMESPACE, name))
    return found.obj if found is not None else None


async def test_05_06_a_rejected_job_disappears_from_every_worker(tmp_path: Path) -> None:
    async with story(tmp_path) as told:
        await fill(told, "w1", "w2", priority="high")
        told.submit("hub", work("mine", 8))
        await told.until(lambda: told.has("w1", "mine") and told.has("w2", "mine"))
        await told.settled()
        name = told.workload("hub", "mine")["metadata"]["name"]

        def reject(found: dict[str, Any]) -> None:
            found["status"]["admissionChecks"][0].update(state="Rejected", message="not here")

        told.change("hub", "workloads", name, reject, "status", NAMESPACE)
        await told.until(lambda: not told.has("w1", "mine") and not told.has("w2", "mine"))
        await told.settled()
        assert told.workload("hub", "mine")["spec"]["active"] is False
        assert told.holds("hub", "mine", "Evicted")


@pytest.mark.parametrize("profiles", DIALECTS)
async def test_74_80_of_two_full_workers_one_preempts_and_the_other_only_asks(
    tmp_path: Path, profiles: Profiles
) -> None:
    async with story(tmp_path, profiles) as told:
        await fill(told, "w1", "w2")
        evicted = {name: told.evictions(name) for name in profiles}
        told.submit("hub", work("high", 8, "high").runs(60))
        await told.until(lambda: told.holds("w1", "high", "Admitted"))
        await told.until(lambda: told.is_ready("high"))
        await told.settled()
        assert told.workload("hub", "high")["status"]["clusterName"] == "w1"
        assert not told.has("w2", "high")
        assert remote_job(told, "w1", "high")["status"]["active"] == 1
        assert len(evicted["w1"].names) == 1
        await told.pass_time(70)
        assert told.holds("hub", "high", "Finished")
        assert told.holds("w1", "low", "Admitted"), "the victim runs again"
        assert evicted["w2"].names == set(), "the other worker's job was never touched"
        assert not told.has("w1", "high")
        assert not told.has("w2", "high")


@pytest.mark.parametrize("profiles", DIALECTS)
async def test_69_70_71_74_a_stuck_preemption_passes_the_turn_on_after_the_timeout(
    tmp_path: Path, profiles: Profiles
) -> None:
    async with story(tmp_path, profiles) as told:
        await fill(told, "w1", stops_in=600)
        await fill(told, "w2")
        evicted = told.evictions("w2")
        told.submit("hub", work("high", 8, "high"))
        await told.until(lambda: told.has("w2", "high") and told.asks("w2", "high"))
        await told.until(lambda: told.gate("w1", "high") == "Open")
        await told.settled()
        assert told.gate("w2", "high") == "Closed"
        reserved = told.condition("w2", "high", "QuotaReserved")
        assert reserved is not None
        assert (reserved["status"], reserved["message"]) == ("False", GATED)
        message = told.check("high")["message"]
        assert "Pending on w1, w2; asked to preempt: w1, w2; gate open: w1 since" in message
        assert message.endswith("; next is w2")
        await told.pass_time(T - 1)
        assert told.gate("w2", "high") == "Closed"
        assert evicted.names == set()
        await told.pass_time(2)
        assert told.holds("w2", "high", "Admitted")
        assert told.check("high")["state"] == "Ready"
        assert [cluster for cluster, _ in told.openings("high")] == ["w1", "w2"]


@pytest.mark.parametrize("profiles", DIALECTS)
async def test_75_a_worker_with_room_takes_it_behind_a_closed_gate(tmp_path: Path, profiles: Profiles) -> None:
    async with story(tmp_path, profiles, gates={"non_preempting_grace": "10s"}) as told:
        await fill(told, "w1")
        evicted = told.evictions("w1")
        told.submit("hub", work("high", 8, "high"))
        await told.until(lambda: told.is_ready("high"))
        await told.settled()
        assert told.workload("hub", "high")["status"]["clusterName"] == "w2"
        assert told.gate("w2", "high") == "Closed"
        assert not told.asks("w2", "high")
        assert told.openings("high") == []
        assert evicted.names == set()


async def test_75_without_a_grace_a_worker_with_room_wins_all_the_same(tmp_path: Path) -> None:
    async with story(tmp_path, {"w1": CURRENT}) as told:
        told.submit("hub", work("high", 8, "high"))
        await told.until(lambda: told.is_ready("high"))
        await told.settled()
        assert told.gate("w1", "high") == "Closed"
        assert told.condition("w1", "high", "BlockedOnPreemptionGates") is None


@pytest.mark.parametrize("profiles", DIALECTS)
async def test_76_where_nothing_could_be_preempted_no_worker_asks(tmp_path: Path, profiles: Profiles) -> None:
    async with story(tmp_path, profiles) as told:
        for cluster in ("w1", "w2"):
            told.submit(cluster, work("equal", 8, "high"))
        await told.settled()
        told.submit("hub", work("high", 8, "high"))
        await told.until(lambda: told.has("w1", "high") and told.has("w2", "high"))
        await told.pass_time(2 * T)
        assert not told.asks("w1", "high")
        assert not told.asks("w2", "high")
        assert told.openings("high") == []
        assert told.check("high")["message"] == "Pending on w1, w2"


@pytest.mark.parametrize("strategy", ["BestEffortFIFO", "StrictFIFO"])
@pytest.mark.parametrize("profiles", DIALECTS[:2])
async def test_77_whether_others_overtake_a_gated_head_depends_on_the_queue(
    tmp_path: Path, strategy: str, profiles: Profiles
) -> None:
    async with story(tmp_path, profiles) as told:
        told.change("w2", "clusterqueues", QUEUE, lambda q: q["spec"].update(queueingStrategy=strategy))
        await fill(told, "w1", cpu=6, stops_in=600)
        await fill(told, "w2", cpu=6)
        told.submit("hub", work("high", 8, "high"))
        await told.until(lambda: told.has("w2", "high") and told.asks("w2", "high"))
        told.submit("w2", work("small", 2))
        await told.settled()
        assert told.gate("w2", "high") == "Closed"
        assert told.holds("w2", "small", "Admitted") is (strategy == "BestEffortFIFO")
        await told.pass_time(T + 2)
        assert told.holds("w2", "high", "Admitted"), "once its gate is open it preempts"
        assert not told.holds("w2", "small", "Admitted")


@pytest.mark.parametrize(("when_can_preempt", "asks"), [("MayStopSearch", True), ("TryNextFlavor", False)])
@pytest.mark.parametrize("profile", [pytest.param(CURRENT, id="kueue"), pytest.param(KEP_8303, id="kep")])
async def test_78_whether_a_gate_matters_depends_on_the_flavor(
    tmp_path: Path, profile: KueueProfile, when_can_preempt: str, *, asks: bool
) -> None:
    async with story(tmp_path, {"w1": profile}) as told:
        told.create("w1", "resourceflavors", {"metadata": {"name": "spare"}, "spec": {}})
        quotas = [{"name": name, "resources": [{"name": "cpu", "nominalQuota": "8"}]} for name in (FLAVOR, "spare")]

        def two_flavors(queue: dict[str, Any]) -> None:
            queue["spec"]["resourceGroups"] = [{"coveredResources": ["cpu"], "flavors": quotas}]
            queue["spec"]["flavorFungibility"] = {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": when_can_preempt}

        told.change("w1", "clusterqueues", QUEUE, two_flavors)
        await fill(told, "w1")
        evicted = told.evictions("w1")
        told.submit("hub", work("high", 8, "high"))
        await told.until(lambda: told.is_ready("high"))
        await told.settled()
        assert [cluster for cluster, _ in told.openings("high")] == (["w1"] if asks else [])
        assert (told.condition("w1", "high", *SIGNALS) is not None) is asks
        assert bool(evicted.names) is asks


@pytest.mark.parametrize("profiles", DIALECTS)
async def test_F13_79_89_an_eviction_closes_the_gate_and_others_wait_for_the_rest_of_its_window(
    tmp_path: Path, profiles: Profiles
) -> None:
    async with story(tmp_path, profiles) as told:
        told.create("w1", "workloadpriorityclasses", {"metadata": {"name": "top"}, "value": 2000})
        told.create("w1", "admissionchecks", {"metadata": {"name": "slow"}, "spec": {"controllerName": "x/y"}})
        active = {
            "type": "Active",
            "status": "True",
            "reason": "A",
            "message": "",
            "lastTransitionTime": told.world.hub.now(),
        }
        told.change(
            "w1", "admissionchecks", "slow", lambda c: c.update(status={"conditions": [active]}), subresource="status"
        )
        await fill(told, "w1", "w2")
        rules = {"admissionChecks": [{"name": "slow"}]}
        told.change("w1", "clusterqueues", QUEUE, lambda q: q["spec"].update(admissionChecksStrategy=rules))
        told.submit("hub", work("high", 8, "high"))
        await told.until(lambda: told.holds("w1", "high", "QuotaReserved"))
        await told.settled()
        assert told.gate("w1", "high") == "Open"
        assert told.gate("w2", "high") == "Closed"
        assert told.asks("w2", "high")
        assert "no gate opens while w1 has quota reserved" in told.check("high")["message"]
        torn: list[tuple[bool, str | None]] = []
        kind = told["w1"].store.kind("workloads", "kueue.x-k8s.io")

        def note(_: object) -> None:
            if told.has("w1", "high"):
                torn.append((told.holds("w1", "high", "Evicted"), told.gate("w1", "high")))

        told["w1"].store.subscribe(kind, note)
        await told.pass_time(2)
        told.submit("w1", work("top", 8, "top"))
        await told.until(lambda: told.holds("w1", "high", "Evicted"))
        await told.settled()
        assert (True, "Open") not in torn
        assert [told.gate(name, "high") for name in ("w1", "w2")] == ["Closed", "Closed"]
        assert not told.asks("w1", "high")
        await told.pass_time(T)
        await told.until(lambda: told.gate("w2", "high") == "Open")
        assert [cluster for cluster, _ in told.openings("high")] == ["w1", "w2"]
        await told.until(lambda: told.is_ready("high"))


@pytest.mark.parametrize("profiles", DIALECTS)
async def test_91_states_follow_the_gates_of_the_spec_and_that_is_no_drift(tmp_path: Path, profiles: Profiles) -> None:
    async with story(tmp_path, profiles) as told:
        await fill(told, "w1", stops_in=600)
        await fill(told, "w2")
        told.submit("hub", work("high", 8, "high"))
        await told.until(lambda: told.has("w2", "high") and told.asks("w2", "high"))
        await told.settled()
        replica = told.workload("w2", "high")["metadata"]

        def gates(*names: str) -> None:
            spec = [{"name": name} for name in names]
            told.change(
                "w2", "workloads", replica["name"], lambda w: w["spec"].update(preemptionGates=spec), "", NAMESPACE
            )

        def states() -> dict[str, str]:
            entries = told.workload("w2", "high")["status"].get("preemptionGates", [])
            return {entry["name"]: entry.get("position") or entry.get("state") for entry in entries}

        gates(MULTIKUEUE_NAME, "example.com/other")
        await told.settled()
        assert states() == {MULTIKUEUE_NAME: "Closed", "example.com/other": "Closed"}
        gates("example.com/other")
        await told.settled()
        assert states() == {"example.com/other": "Closed"}
        await told.pass_time(T + 1)
        assert told.workload("w2", "high")["metadata"]["uid"] == replica["uid"]
        assert [cluster for cluster, _ in told.openings("high")] == ["w1"], "it has no gate of Turnstile any more"


@pytest.mark.parametrize("profiles", DIALECTS)
async def test_93_two_workloads_have_a_window_each(tmp_path: Path, profiles: Profiles) -> None:
    async with story(tmp_path, profiles) as told:
        for cluster in ("w1", "w2"):
            for name in ("low-a", "low-b"):
                told.submit(cluster, work(name, 4).stops_in(600))
        await told.settled()
        for name in ("first", "second"):
            told.submit("hub", work(name, 4, "high"))
        await told.until(lambda: all(told.has("hub", name) for name in ("first", "second")))
        await told.until(lambda: all(told.openings(name) for name in ("first", "second")))
        await told.settled()
        # Both workers ask in the same second, so that whichever is heard of first comes first.
        opened = {name: [cluster for cluster, _ in told.openings(name)] for name in ("first", "second")}
        for name, clusters in opened.items():
            assert clusters in (["w1"], ["w2"])
            assert told.gate("w2" if clusters == ["w1"] else "w1", name) == "Closed"
        # A Workload behind the other looks overlooked for a while, and its window is a little longer for that.
        await told.pass_time(T + 60)
        for name, clusters in opened.items():
            later = [cluster for cluster, _ in told.openings(name)]
            assert later == [*clusters, "w2" if clusters == ["w1"] else "w1"]


async def test_29_94_a_component_follows_its_primary_without_a_gate(tmp_path: Path) -> None:
    jobs = {"integrations": ["leaderworkerset.x-k8s.io/leaderworkerset"]}
    async with story(tmp_path, jobs=jobs) as told:
        await fill(told, "w1")
        group = "leaderworkerset.x-k8s.io"
        document = {"apiVersion": f"{group}/v1", "kind": "LeaderWorkerSet", "metadata": {"name": "lws"}}
        owner = told.create("hub", "leaderworkersets", {**document, "spec": {"replicas": 2}}, group, NAMESPACE)

        def component(name: str, index: int) -> None:
            made = Builder(workload(name, owner, priority=1000, queueName=QUEUE))
            annotations = {
                marks.JOB_OWNER_GVK: f"{group}/v1, Kind=LeaderWorkerSet",
                marks.JOB_OWNER_NAME: "lws",
                marks.COMPONENT_INDEX: str(index),
            }
            raw = made.with_metadata(annotations=annotations, namespace=NAMESPACE).raw
            raw["spec"]["podSets"][0]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "4"
            told.create("hub", "workloads", raw, "kueue.x-k8s.io", NAMESPACE)

        component("first", 0)
        await told.settled()
        assert not told.has("w2", "first"), "its sibling does not exist yet"
        told.submit("w2", work("low", 4))
        component("second", 1)
        await told.until(lambda: told.is_ready("first"))
        assert told.workload("hub", "first")["status"]["clusterName"] == "w2"
        await told.until(lambda: told.is_ready("second"))
        assert "preemptionGates" not in told.workload("w2", "second")["spec"]
        assert told.holds("w2", "low", "Evicted"), "its cluster is decided, so it preempts without asking"
        assert not told.has("w1", "second")
        assert told.openings("second") == []


async def test_90_old_workers_take_turns_so_that_only_one_of_them_preempts(tmp_path: Path) -> None:
    old = {"w1": BEFORE_GATES, "w2": BEFORE_GATES}
    workers = [{"name": name, "gates_unsupported": "sequential"} for name in old]
    async with story(tmp_path, old, workers=workers) as told:
        await fill(told, "w1", "w2")
        evicted = told.evictions("w2")
        told.submit("hub", work("high", 8, "high"))
        await told.until(lambda: told.is_ready("high"))
        await told.pass_time(T + 1)
        assert evicted.names == set()
