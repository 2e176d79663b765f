"""Which Kueue each worker runs: found out, shown, noticed when it changes, and distrusted when it cannot be."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from config.api.identifiers import WorkerName
from config.api.meta import Obj, format_time
from config.names import KUEUE_GROUP
from engine.objects.configuration import KueueConfiguration
from gates.detection.detected import BEFORE_GATES, IMPOSSIBLE_VERSION, OTHER_DEFINITIONS
from gates.diagnosis.capabilities import NOT_SPOKEN
from gates.model.view import GateSupport
from localcluster.catalogue.registry import all_kinds
from localcluster.serving.faults import Latency, RawAnswer
from manager.clusters.kueue_detection import MAX_CONFIGURATION_CHARACTERS
from manager.metrics.process import ProcessMetrics
from tests.integration.orchestrator.kueue import KUEUE
from tests.integration.orchestrator.world import World, running, world
from tests.support.kueue_installation import GATE, NAMESPACE, config_map, configuration, deployment
from tests.support.odd_answers import document, raw_answer
from tests.support.scraping import scraping

FORBIDDEN = raw_answer(
    b'{"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": 403, "reason": "Forbidden", "message": "no"}',
    status="403 Forbidden",
)
OLDER = all_kinds(v1beta1=True)
BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 10)}]\n" for old, new in zip("abcdef", "bcdefg", strict=True)
)


def install(made: World, name: str, *objects: Obj, rolled_out_after: float = 60) -> None:
    """Put the objects of a Kueue's installation on a worker; its pods were started so long after everything else."""
    made[name].create("namespaces", {"metadata": {"name": NAMESPACE}})
    for each in objects:
        if each["kind"] == "ConfigMap":
            made[name].create("configmaps", each, namespace=NAMESPACE)
            continue
        made[name].create("deployments", each, "apps", NAMESPACE)
        rolled_out = format_time(made.clock.now_ns() + int(rolled_out_after * 1e9))
        status = deployment(rolled_out=rolled_out)["status"]
        made[name].change_status("deployments", "kueue-controller-manager", partial(_become, status), "apps", NAMESPACE)


def _become(status: Obj, found: Obj) -> None:
    found.update(status)


def kueue_of(made: World, name: str) -> Obj:
    (worker,) = [each for each in made.running_daemon().inspector.workers() if each["name"] == name]
    found: Obj = worker["kueue"]
    return found


def active(made: World, name: str) -> str:
    (condition,) = made.hub.get("multikueueclusters", name, KUEUE, "")["status"]["conditions"]
    return str(condition["message"])


def verdict(made: World, name: str) -> GateSupport:
    return made.running_daemon().fleet.links[WorkerName(name)].gates.verdict


async def test_the_version_is_told_by_what_may_be_read(tmp_path: Path) -> None:
    workers = [{"name": "w3", "kueue_version": "v0.19.0"}]
    kinds = {"w2": OLDER, "w3": OLDER}
    async with world(tmp_path, "w1", "w2", "w3", kinds=kinds, workers=workers) as made:
        install(made, "w2", deployment())
        install(made, "w3", deployment())
        await made.start()
        await made.connected()
        await made.settled()
        assert [(kueue_of(made, name)["version"], kueue_of(made, name)["source"]) for name in ("w1", "w2", "w3")] == [
            ("v0.20 or later", "schema"),
            ("v0.19.2", "image"),
            ("v0.19.0", "configured"),
        ]
        async with scraping(made.running_daemon(), ProcessMetrics(made.clock.now_ns, None)) as scrape:
            found = await scrape()
            assert found.value("turnstile_worker_kueue_info", worker="w2", version="v0.19.2", source="image") == 1


async def test_an_upgrade_under_load_is_noticed_while_the_connection_stays(tmp_path: Path) -> None:
    kinds = {"w1": OLDER}
    async with world(tmp_path, "w1", "w2", kinds=kinds) as made:
        install(made, "w1", deployment("kueue:v0.18.3"), config_map(configuration({GATE: True})))
        await made.start()
        await made.connected()
        made.queue()
        await made.until(lambda: "w1" in made.holders())
        assert f"v0.18.3 (image), {OTHER_DEFINITIONS} v0.19.x" in active(made, "w1")

        def upgrade(found: Obj) -> None:
            found["spec"]["template"]["spec"]["containers"][0]["image"] = "kueue:v0.19.2"

        made["w1"].change("deployments", "kueue-controller-manager", upgrade, "apps", NAMESPACE)
        await made.pass_time(61)
        await made.until(lambda: kueue_of(made, "w1")["version"] == "v0.19.2")
        await made.settled()
        assert OTHER_DEFINITIONS not in active(made, "w1")
        assert made["w1"].has_workload("wl")


async def test_an_unchanged_worker_is_not_described_again(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as made:
        documents = made["w1"].local.faults.add(Latency(0), path="/openapi/v3/apis")
        await made.pass_time(600)
        assert documents.hits == 0


async def test_without_the_role_the_installation_is_asked_for_now_and_then(tmp_path: Path) -> None:
    async with world(tmp_path, "w1") as made:
        refusals = made["w1"].local.faults.add(RawAnswer(FORBIDDEN), plural="deployments")
        await made.start()
        await made.connected()
        before = refusals.hits
        for _ in range(10):
            await made.pass_time(60)
        assert refusals.hits - before <= 2
        assert kueue_of(made, "w1") == {
            "version": "v0.20 or later",
            "source": "schema",
            "isExact": False,
            "problems": [],
        }


SWITCHES: dict[str, tuple[tuple[Obj, ...], GateSupport]] = {
    "nothing may be read": ((), GateSupport.UNKNOWN),
    "off by default": ((deployment(), config_map(configuration())), GateSupport.MISSING),
    "on in the Configuration": ((deployment(), config_map(configuration({GATE: True}))), GateSupport.HONOURED),
    "on in the arguments": (
        (deployment("kueue:v0.19.2", f"--feature-gates={GATE}=true"), config_map(configuration())),
        GateSupport.HONOURED,
    ),
}


@pytest.mark.parametrize(("objects", "want"), SWITCHES.values(), ids=SWITCHES.keys())
async def test_what_is_configured_counts_before_any_replica_exists(
    tmp_path: Path, objects: tuple[Obj, ...], want: GateSupport
) -> None:
    async with world(tmp_path, "w1", kinds={"w1": OLDER}) as made:
        install(made, "w1", *objects)
        await made.start()
        await made.connected()
        await made.settled()
        assert verdict(made, "w1") is want


async def test_what_is_configured_counts_once_kueue_was_started_with_it(tmp_path: Path) -> None:
    async with world(tmp_path, "w1", kinds={"w1": OLDER}) as made:
        install(made, "w1", deployment(), config_map(configuration({GATE: True})), rolled_out_after=-60)
        await made.start()
        await made.connected()
        assert verdict(made, "w1") is GateSupport.UNKNOWN


async def test_gates_that_are_switched_off_while_the_daemon_runs_stop_counting(tmp_path: Path) -> None:
    async with world(tmp_path, "w1", kinds={"w1": OLDER}) as made:
        install(made, "w1", deployment(), config_map(configuration({GATE: True})))
        await made.start()
        await made.connected()
        assert verdict(made, "w1") is GateSupport.HONOURED

        def switch_off(found: Obj) -> None:
            found["data"]["controller_manager_config.yaml"] = configuration({GATE: False})

        made["w1"].change("configmaps", "kueue-manager-config", switch_off, "", NAMESPACE)
        await made.pass_time(61)
        await made.until(lambda: verdict(made, "w1") is GateSupport.MISSING)
        assert f"its Configuration leaves {GATE} off" in active(made, "w1")


def raw_map(size: int) -> bytes:
    return document(config_map("#" * size))


BAD: dict[str, tuple[Callable[[World], Any], str]] = {
    "an impossible version": (
        lambda made: install(made, "w1", deployment("kueue:v7.3.0")),
        f"{IMPOSSIBLE_VERSION} (image)",
    ),
    "a version below gates": (
        lambda made: install(made, "w1", deployment("kueue:v0.16.9")),
        f"its Kueue is v0.16.9 (image), {BEFORE_GATES}",
    ),
    "a Configuration of 300 KB": (
        lambda made: install(made, "w1", deployment(), config_map("#" * 300_000)),
        f"line 1 is longer than {MAX_CONFIGURATION_CHARACTERS} characters",
    ),
    "a ConfigMap of 5 MB": (
        lambda made: made["w1"].local.faults.add(RawAnswer(raw_map(5_000_000)), plural="configmaps"),
        "how its Kueue is installed cannot be read",
    ),
    "a YAML bomb": (
        lambda made: install(made, "w1", deployment(), config_map(BOMB)),
        "holds more than 10000 values",
    ),
    "not YAML": (
        lambda made: install(made, "w1", deployment(), config_map("a: [")),
        "the Configuration of its Kueue cannot be read: line ",
    ),
    "another kind": (
        lambda made: install(made, "w1", deployment(), config_map("kind: Pod")),
        "is not a Kueue Configuration",
    ),
    "a gate that is not a boolean": (
        lambda made: install(made, "w1", deployment(), config_map(configuration({GATE: "maybe"}))),
        f"the feature gates {GATE} of its Kueue are neither true nor false",
    ),
    "an argument that is not a boolean": (
        lambda made: install(made, "w1", deployment("kueue:v0.20.0", f"--feature-gates={GATE}=maybe")),
        f"the feature gates {GATE} of its Kueue are neither true nor false",
    ),
}


@pytest.mark.parametrize(("spoil", "want"), BAD.values(), ids=BAD.keys())
async def test_S6_what_cannot_be_is_one_condition_and_gates_do_not_count(
    tmp_path: Path, spoil: Callable[[World], Any], want: str
) -> None:
    async with world(tmp_path, "w1", "w2") as made:  # both with gates on by default
        spoil(made)
        await made.start()
        await made.connected()
        await made.settled()
        assert active(made, "w1").count(want) == 1, active(made, "w1")
        assert verdict(made, "w1") is not GateSupport.HONOURED
        assert verdict(made, "w2") is GateSupport.HONOURED
        assert want in "".join(kueue_of(made, "w1")["problems"])


async def test_a_worker_that_speaks_only_v1beta1_is_refused_by_name(tmp_path: Path) -> None:
    before_v1beta2 = tuple(
        replace(kind, version="v1beta1") if kind.group == KUEUE_GROUP else kind for kind in all_kinds()
    )
    async with world(tmp_path, "w1", "w2", kinds={"w1": before_v1beta2}) as made:
        await made.start()
        made.queue()
        await made.until(lambda: made.holders() == ["w2"])
        assert active(made, "w1") == NOT_SPOKEN
        assert "v0.14 or earlier, which is not supported" in NOT_SPOKEN


async def test_a_worker_downgraded_below_gates_is_not_trusted_with_them(tmp_path: Path) -> None:
    async with world(tmp_path, "w1", kinds={"w1": OLDER}) as made:
        install(made, "w1", deployment(), config_map(configuration({GATE: True})))
        await made.start()
        await made.connected()
        assert verdict(made, "w1") is GateSupport.HONOURED

        def downgrade(found: Obj) -> None:
            found["spec"]["template"]["spec"]["containers"][0]["image"] = "kueue:v0.16.9"

        made["w1"].change("deployments", "kueue-controller-manager", downgrade, "apps", NAMESPACE)
        await made.pass_time(61)
        await made.until(lambda: verdict(made, "w1") is not GateSupport.HONOURED)
        await made.until(lambda: BEFORE_GATES in active(made, "w1"))
        assert active(made, "w1").count(BEFORE_GATES) == 1


async def test_forecasts_go_by_the_exact_version_and_follow_an_upgrade(tmp_path: Path) -> None:
    workers = [{"name": "w2", "kueue_version": "v0.17.1"}]
    kinds = {"w1": OLDER, "w2": OLDER}
    async with world(tmp_path, "w1", "w2", kinds=kinds, workers=workers, forecast={"enabled": True}) as made:
        install(made, "w1", deployment("kueue:v0.19.0"), config_map(configuration({"AllAlpha": True}, fairSharing={})))

        def model(name: str) -> KueueConfiguration | None:
            link = made.running_daemon().fleet.links.get(WorkerName(name))
            observed = link.observation if link is not None else None
            return observed.cluster.model.configuration if observed is not None else None

        def is_by(name: str, version: str) -> bool:
            found = model(name)
            return found is not None and str(found.profile) == version

        await made.start()
        await made.until(lambda: is_by("w1", "v0.19.0"))
        await made.connected()
        assert is_by("w2", "v0.17.1")
        found = model("w1")
        assert found is not None
        assert found.fair_sharing is not None
        assert found.gates.priority_boost, "an alpha gate"

        def upgrade(raw: Obj) -> None:
            raw["spec"]["template"]["spec"]["containers"][0]["image"] = "kueue:v0.19.2"

        made["w1"].change("deployments", "kueue-controller-manager", upgrade, "apps", NAMESPACE)
        await made.pass_time(61)
        await made.until(lambda: is_by("w1", "v0.19.2"))
        await made.connected()


async def test_a_configuration_that_forecasts_cannot_use_leaves_them_as_they_were(tmp_path: Path) -> None:
    async with world(tmp_path, "w1", forecast={"enabled": True}) as made:
        odd = configuration(None, resources={"quotaCheckStrategy": "Never"})
        install(made, "w1", deployment("kueue:v0.20.0"), config_map(odd))
        with capture_logs() as log:
            await made.start()
            await made.connected()
            await made.settled()
        (line,) = [each for each in log if each["event"] == "forecasts.configuration_unusable"]
        assert "resources.quotaCheckStrategy" in line["error"]
