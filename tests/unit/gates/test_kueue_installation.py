"""What the Deployment and the ConfigMap of a Kueue tell of its version and of its gates."""

from collections.abc import Mapping
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from config.api.meta import parse_time
from engine.versions.version import KueueVersion
from gates.detection.claims import VersionClaim, VersionSource
from gates.detection.detected import DetectedKueue, detected
from gates.detection.gate_switch import KueueSettings, agreed, gates_switched
from gates.detection.installation import KueueDeployment, read_config_map, read_deployment
from gates.detection.schema_facts import schema_facts
from tests.support.kueue_installation import GATE, T1, T2, config_map, configuration, deployment
from tests.support.kueue_schemas import V0_19, V0_20, KueueSchema

IMAGE, LABELS = VersionSource.IMAGE, VersionSource.LABELS
HELM = {"app.kubernetes.io/version": "v0.19.1", "helm.sh/chart": "kueue-0.19.1"}

IMAGES: dict[str, str] = {
    "registry.k8s.io/kueue/kueue:v0.19.2": "v0.19.2",
    "localhost:5000/mirror/kueue:v0.18.3": "v0.18.3",
    "localhost:5000/kueue": "",
    "registry.k8s.io/kueue/kueue:v0.19.2@sha256:0123": "v0.19.2",
    "registry.redhat.io/kueue/kueue-rhel9@sha256:0123": "",
    "kueue:main": "",
    "kueue:v7.0.0": "v7.0.0",
    "": "",
}


@pytest.mark.parametrize(("image", "want"), IMAGES.items(), ids=IMAGES.keys())
def test_an_image_tells_the_version_by_its_tag(image: str, want: str) -> None:
    assert read_deployment(deployment(image)).claims == ((VersionClaim(IMAGE, want),) if want else ())


def test_a_chart_tells_the_version_by_its_labels() -> None:
    assert read_deployment(deployment("kueue@sha256:0", labels=HELM)).claims == (VersionClaim(LABELS, "v0.19.1"),)
    assert read_config_map(config_map("", labels=HELM)).claims == (VersionClaim(LABELS, "v0.19.1"),)
    chart = {"helm.sh/chart": "kueue-0.18.3"}
    assert read_config_map(config_map("", labels=chart)).claims == (VersionClaim(LABELS, "0.18.3"),)


ARGUMENTS: dict[str, tuple[tuple[str, ...], Mapping[str, object]]] = {
    "none": ((), {}),
    "one option": ((f"--feature-gates={GATE}=true,A=false",), {GATE: True, "A": False}),
    "two arguments": (("--feature-gates", f"{GATE}=True"), {GATE: True}),
    "the last argument": (("--feature-gates",), {}),
    "spaces": ((f"--feature-gates= {GATE} = true , ",), {GATE: True}),
    "not a boolean": ((f"--feature-gates={GATE}=maybe",), {GATE: "maybe"}),
    "no value": ((f"--feature-gates={GATE}",), {GATE: ""}),
    "another option": (("--feature-gates-file=A=true",), {}),
}


@pytest.mark.parametrize(("arguments", "want"), ARGUMENTS.values(), ids=ARGUMENTS.keys())
def test_arguments_tell_feature_gates(arguments: tuple[str, ...], want: Mapping[str, object]) -> None:
    assert read_deployment(deployment("k", *arguments)).gates == want


def changed(change: Any) -> int | None:
    raw = deployment()
    change(raw)
    return read_deployment(raw).rolled_out_ns


ROLLOUTS: dict[str, tuple[Any, int | None]] = {
    "done": (lambda _: None, parse_time(T2)),
    "pods are replaced": (lambda raw: raw["status"].update(updatedReplicas=0), None),
    "old pods are still there": (lambda raw: raw["status"].update(replicas=2), None),
    "new pods are not ready": (lambda raw: raw["status"].update(availableReplicas=0), None),
    "a change was not seen yet": (lambda raw: raw["metadata"].update(generation=2), None),
    "scaled to zero": (lambda raw: raw["spec"].update(replicas=0), None),
    "still progressing": (lambda raw: raw["status"]["conditions"][0].update(reason="ReplicaSetUpdated"), None),
    "no conditions": (lambda raw: raw["status"].pop("conditions"), None),
    "a time that is none": (lambda raw: raw["status"]["conditions"][0].update(lastUpdateTime="soon"), None),
    "no status": (lambda raw: raw.pop("status"), None),
}


@pytest.mark.parametrize(("change", "want"), ROLLOUTS.values(), ids=ROLLOUTS.keys())
def test_when_all_pods_run_what_the_deployment_says(change: Any, want: int | None) -> None:
    assert changed(change) == want


def settings(
    gates: dict[str, Any] | None = None, *arguments: str, rolled_out: str | None = T2, is_changed: str = T1
) -> KueueSettings:
    found = yaml.safe_load(configuration(gates))
    return KueueSettings(
        read_deployment(deployment("k", *arguments, rolled_out=rolled_out)), found, parse_time(is_changed)
    )


V19, V20 = KueueVersion(0, 19, 1), KueueVersion(0, 20, 0)
OFF = f"--feature-gates={GATE}=false"
ONLY_MAP = KueueSettings(None, {"featureGates": {GATE: True}}, parse_time(T1))
ONLY_MAP_OFF = KueueSettings(None, {"featureGates": {GATE: False}}, parse_time(T1))
ONLY_DEPLOYMENT = KueueSettings(read_deployment(deployment("k")))
SWITCHED: dict[str, tuple[KueueSettings, KueueVersion | None, bool | None]] = {
    "nothing may be read": (KueueSettings(), V19, None),
    "on, and its pods were started since": (settings({GATE: True}), V19, True),
    "on, and its pods are older": (settings({GATE: True}, rolled_out=T1, is_changed=T2), V19, None),
    "on, and its pods are being replaced": (settings({GATE: True}, rolled_out=None), V19, None),
    "on, and nothing tells of its pods": (ONLY_MAP, V19, None),
    "off": (settings({GATE: False}), V20, False),
    "off, whatever its pods were started with": (settings({GATE: False}, rolled_out=None), V20, False),
    "off, and nothing tells of its pods": (ONLY_MAP_OFF, V20, False),
    "not named, and off by default": (settings(), V19, False),
    "not named, and on by default": (settings(), V20, None),
    "not named, and the version is not known": (settings(), None, None),
    "not named where it may be read": (ONLY_DEPLOYMENT, V19, None),
    "by an argument": (settings(None, f"--feature-gates={GATE}=true"), V19, True),
    "an argument counts before the file": (settings({GATE: True}, OFF), V19, False),
    "all alpha gates": (settings({"AllAlpha": True}), V19, True),
    "all alpha gates, when it is beta": (settings({"AllAlpha": True}), V20, None),
    "all beta gates off": (settings({"AllBeta": False}), V20, False),
    "all alpha gates but this": (settings({"AllAlpha": True, GATE: False}), V19, False),
    "not a boolean": (settings({GATE: "yes"}), V19, None),
}


@pytest.mark.parametrize(("found", "version", "want"), SWITCHED.values(), ids=SWITCHED.keys())
def test_whether_gates_are_switched_on(found: KueueSettings, version: KueueVersion | None, want: bool | None) -> None:
    assert gates_switched(found, version) is want


def kueue(schema: KueueSchema, found: KueueSettings, before: DetectedKueue | None = None) -> DetectedKueue:
    served = ("v1beta2",) if schema is V0_20 else ("v1beta2", "v1beta1")
    facts = schema_facts(schema.document(), served)
    return detected(facts, (), found) if before is None else detected(facts, (), found, before)


BROKEN = KueueSettings(read_deployment(deployment("k")), None, None, "the Configuration of its Kueue cannot be read")


def test_a_kueue_with_gates_on_by_default_counts_only_once_all_pods_run_it() -> None:
    assert kueue(V0_20, settings()).has_gates_on
    assert not kueue(V0_20, settings(rolled_out=None)).has_gates_on
    assert kueue(V0_20, KueueSettings()).has_gates_on, "nothing else is known of it"


def test_an_upgrade_that_only_the_schema_shows_does_not_count() -> None:
    old = kueue(V0_19, KueueSettings())
    new = kueue(V0_20, KueueSettings(), old)
    assert not new.has_gates_on, "its definitions are installed before its pods are replaced"
    assert not kueue(V0_20, KueueSettings(), new).has_gates_on
    assert kueue(V0_20, settings(), new).has_gates_on


@pytest.mark.parametrize("found", [settings({"A": "no"}), settings({"A": 1}), BROKEN], ids=["text", "number", "file"])
def test_a_configuration_that_cannot_be_used_is_one_problem_and_gates_do_not_count(found: KueueSettings) -> None:
    broken = kueue(V0_20, found)
    assert len(broken.problems) == 1
    assert (broken.gates_switched, broken.has_gates_on) == (None, False)


@pytest.mark.parametrize("configured", [True, False, None])
@pytest.mark.parametrize("read", [True, False, None])
def test_gates_are_on_if_file_and_cluster_agree(configured: bool | None, read: bool | None) -> None:
    said = {configured, read} - {None}
    assert agreed(configured, read) is (None if not said else said == {True})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=10,
)


def _places(value: object) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [(), *((key, *rest) for key, each in inner for rest in _places(each))]


@given(st.sampled_from(_places(deployment("k:v0.19.1", OFF))[1:]), JSON)
def test_F1_anything_at_any_place_of_a_deployment_is_read_without_a_failure(path: tuple[Any, ...], odd: object) -> None:
    raw: Any = deployment("k:v0.19.1", OFF)
    inner = raw
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = odd
    assert isinstance(read_deployment(raw), KueueDeployment)


@given(st.sampled_from(_places(config_map("a"))[1:]), JSON)
def test_F1_anything_at_any_place_of_a_config_map_is_read_without_a_failure(path: tuple[Any, ...], odd: object) -> None:
    raw: Any = config_map("a")
    inner = raw
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = odd
    read_config_map(raw)
