"""What becomes of a Workload's pods, as a table: nodes and pods, who comes, who leaves, and what is said."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from config.api.meta import parse_time
from engine.placement.suitability import FlavorPlacement
from engine.pod_outlook.arrivals import AssignedPods, arriving_pods
from engine.pod_outlook.modes import mode_of, unknown_release
from engine.pod_outlook.values import PodCost, PodVerdict
from engine.pods.state.model import PodModel
from engine.pods.values.values import SchedulerMode
from tests.support.builders import Json, at
from tests.support.pod_builders import NAMESPACE, budget, group, node, pod, tainted
from tests.unit.engine.outlook.asking import KEY, NOW, ask, pod_set


@dataclass(frozen=True)
class Case:
    """`want` is the verdict and the evicted pods of every possible outcome, blanks between pods."""

    objects: Sequence[Json]
    want: tuple[PodVerdict, tuple[str, ...]]
    sets: Sequence[Json] = field(default_factory=lambda: [pod_set()])
    counts: Sequence[int] = (1,)
    leaving: Sequence[str] = ()
    mode: SchedulerMode = SchedulerMode.V1_36


FITS, EVICTS, CANNOT, AMBIGUOUS = PodVerdict.FITS, PodVerdict.EVICTS, PodVerdict.CANNOT, PodVerdict.AMBIGUOUS
TWO = [node("n1"), node("n2")]
CASES = {
    "empty nodes take the pods": Case(TWO, (FITS, ("",)), counts=(2,)),
    "a lower pod goes": Case([node("n1"), pod("a", 4, 1, on="n1")], (EVICTS, ("a",))),
    "a pod of a preempted workload makes room": Case(
        [node("n1"), pod("a", 4, 20, on="n1")], (FITS, ("",)), leaving=("a",)
    ),
    "a pod that leaves and one that must": Case(
        [*TWO, pod("a", 4, 1, on="n1"), pod("b", 4, 1, on="n2")], (EVICTS, ("b",)), counts=(2,), leaving=("a",)
    ),
    "nothing of the same priority is evicted": Case([node("n1"), pod("a", 4, 10, on="n1")], (CANNOT, ("",))),
    "two of three pods find a node": Case([*TWO, pod("a", 4, 1, on="n1")], (CANNOT, ("a",)), counts=(3,)),
    "equal victims": Case([*TWO, pod("a", 4, 1, on="n1"), pod("b", 4, 1, on="n2")], (AMBIGUOUS, ("a", "b"))),
    "one eviction makes room for two pods, or each evicts its own": Case(
        [*TWO, pod("a", 4, 1, on="n1"), pod("b", 4, 2, on="n2")],
        (EVICTS, ("a",)),
        sets=[pod_set(cpu=2)],
        counts=(2,),
    ),
    "a budget protects where it can": Case(
        [*TWO, pod("a", 4, 1, on="n1", app="x"), pod("b", 4, 1, on="n2"), budget("x", 0)], (EVICTS, ("b",))
    ),
    "1.37 evicts a group whole": Case(
        [
            node("n1"),
            node("n2"),
            group("g", 1, mode="all"),
            pod("a", 4, 1, on="n1", group="g"),
            pod("b", 4, 1, on="n2", group="g"),
        ],
        (EVICTS, ("a b",)),
        sets=[pod_set(nodeSelector={"kubernetes.io/hostname": "n1"})],
        mode=SchedulerMode.V1_37,
    ),
    "two pod sets that fit however they come": Case(
        [node("n1", 8), node("n2", 8)], (FITS, ("",)), sets=[pod_set("a", 1), pod_set("b", 2)], counts=(2, 2)
    ),
    "two pod sets, one of which evicts": Case(
        [node("n1"), pod("a", 2, 1, on="n1")],
        (EVICTS, ("a",)),
        sets=[pod_set("driver", 1), pod_set("worker", 3)],
        counts=(1, 1),
    ),
    "a gang comes together": Case(
        [*TWO, group("gang", 10, minimum=2), pod("a", 4, 1, on="n1"), pod("b", 4, 1, on="n2")],
        (EVICTS, ("a b",)),
        sets=[pod_set(schedulingGroup={"podGroupName": "gang"})],
        counts=(2,),
        mode=SchedulerMode.V1_37,
    ),
    "a gang whose group is not there waits": Case(
        TWO, (CANNOT, ("",)), sets=[pod_set(schedulingGroup={"podGroupName": "gang"})]
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_becomes_of_the_pods(case: Case) -> None:
    found = ask(case.objects, case.sets, case.counts, leaving=case.leaving, mode=case.mode)
    said = {" ".join(name.removeprefix(f"{NAMESPACE}/") for name in each.evicted) for each in found.outcomes}
    assert (found.verdict, said) == (case.want[0], set(case.want[1]))
    assert found.is_complete
    assert found.pods == sum(case.counts)


def test_a_pod_that_still_terminates_may_cost_another_one() -> None:
    """Of equal priority with the pod that leaves, and no older: the scheduler may take either node."""
    objects = [*TWO, pod("leaves", 4, 1, on="n1"), pod("other", 4, 1, on="n2")]
    found = ask(objects, [pod_set()], [1], leaving=["leaves"])
    assert found.verdict is AMBIGUOUS
    assert [outcome.evicted for outcome in found.outcomes] == [(), ("default/other",)]


def test_the_flavor_says_where() -> None:
    objects = [tainted(node("n1")), pod("a", 4, 1, on="n1"), node("n2")]
    objects[0]["metadata"]["labels"]["pool"] = "gold"
    raw: Json = {
        "metadata": {"name": "gold"},
        "spec": {"nodeLabels": {"pool": "gold"}, "tolerations": [{"key": "dedicated", "operator": "Exists"}]},
    }
    found = ask(objects, [pod_set()], [1], flavors=(FlavorPlacement.from_raw(raw),))
    assert [victim.written for victim in found.victims] == ["default/a"]
    raw["spec"].pop("tolerations")
    assert ask(objects, [pod_set()], [1], flavors=(FlavorPlacement.from_raw(raw),)).verdict is CANNOT


def test_a_victim_is_described_and_its_cost_counted() -> None:
    lost = pod("a", 4, 1, on="n1", started=30, requests={"example.com/gpu": 2})
    found = ask([node("n1", 4, example_com__gpu=2), lost], [pod_set()], [1])
    (victim,) = found.victims
    assert (victim.node, victim.priority, victim.group) == ("n1", 1, "")
    assert victim.running_since_ns == parse_time(at(30))
    assert found.cost == PodCost(pods=1, accelerator_seconds=2 * 1800, cpu_seconds=4 * 1800)


UNSUPPORTED = {
    "spread": (
        pod_set(topologySpreadConstraints=[{"topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"}]),
        "spec.topologySpreadConstraints[0]",
    ),
    "a claim": (
        pod_set(volumes=[{"persistentVolumeClaim": {"claimName": "c"}}]),
        "spec.volumes[0].persistentVolumeClaim",
    ),
    "another scheduler": (pod_set(schedulerName="mine"), "spec.schedulerName"),
}


@pytest.mark.parametrize(("raw", "field_name"), UNSUPPORTED.values(), ids=UNSUPPORTED)
def test_what_is_not_modelled_is_named(raw: Json, field_name: str) -> None:
    found = ask(TWO, [raw], [1])
    assert (found.verdict, found.message) == (PodVerdict.UNSUPPORTED, f'Pod "default/wl-main-0": {field_name}')
    assert not found.promises


def test_a_bound_pod_that_keeps_others_away_is_named() -> None:
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "x"}}}
    anti = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    objects = [*TWO, pod("a", 1, 1, on="n1", spec={"affinity": anti})]
    sets = [pod_set()]
    sets[0]["template"]["metadata"] = {"labels": {"app": "x"}}
    assert 'Pod "default/a"' in ask(objects, sets, [1]).message


def test_a_group_of_a_composite_is_unsupported() -> None:
    composite = group("gang", 10, spec={"parentCompositePodGroupName": "c"})
    found = ask([*TWO, composite], [pod_set(schedulingGroup={"podGroupName": "gang"})], [1])
    assert found.verdict is PodVerdict.UNSUPPORTED


def test_more_ways_than_are_followed_promise_nothing() -> None:
    objects = [node(f"n{n}") for n in range(12)] + [pod(f"a{n}", 4, 1, on=f"n{n}") for n in range(12)]
    found = ask(objects, [pod_set()], [6])
    assert found.verdict is AMBIGUOUS
    assert not found.promises


def test_others_that_wait_are_mentioned() -> None:
    found = ask([*TWO, pod("rival", 4, 10)], [pod_set()], [1])
    assert found.approximate == ("1 other pod(s) of at least this priority wait for a node and may be faster",)


def test_kueues_own_gates_are_gone_by_then_and_others_are_not() -> None:
    gated = [pod_set(schedulingGates=[{"name": "kueue.x-k8s.io/admission"}])]
    assert ask(TWO, gated, [1]).verdict is FITS
    assert ask(TWO, [pod_set(schedulingGates=[{"name": "other"}])], [1]).message.endswith("spec.schedulingGates")


def test_a_pod_set_that_is_not_there_and_a_class_that_is_not_known_are_errors() -> None:
    with pytest.raises(ValueError, match="there is no pod set 'other'"):
        arriving_pods(PodModel(), KEY, [pod_set()], [AssignedPods("other", 1)], NOW)
    unknown = pod_set(priorityClassName="none")
    del unknown["template"]["spec"]["priority"]
    with pytest.raises(ValueError, match='no PriorityClass with name "none" was found'):
        arriving_pods(PodModel(), KEY, [unknown], [AssignedPods("main", 1)], NOW)


RELEASES = {
    "v1.36.3": SchedulerMode.V1_36,
    "v1.37.0-beta.1": SchedulerMode.V1_37,
    "v1.37": SchedulerMode.V1_37,
    "v1.35.9": None,
    "odd": None,
    "v1.361": None,
}


@pytest.mark.parametrize(("version", "mode"), RELEASES.items())
def test_the_version_decides_about_the_rules(version: str, mode: SchedulerMode | None) -> None:
    assert mode_of(version) is mode
    assert version in unknown_release(version)
