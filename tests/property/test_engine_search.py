"""The engine's target searches, with all their short cuts, find exactly what the obvious ones find."""

from collections.abc import Callable

from hypothesis import event, given, settings
from hypothesis import strategies as st

from config.api.meta import ObjectKey, parse_time
from engine.cluster.model import ClusterModel
from engine.objects.configuration import FairSharing, KueueConfiguration
from engine.objects.usage import Usage
from engine.objects.workloads import PendingWorkload
from engine.search.classical import classical_targets
from engine.search.fair_sharing import fair_targets
from engine.search.search import PreemptionTarget, Preemptor
from engine.vocabulary.features import FeatureGates
from engine.vocabulary.flavor_resource import FlavorResource
from tests.property import plain_search
from tests.property.engine_clusters import FLAVORS, PENDING, Scenario, scenarios
from tests.support.builders import NAMESPACE, Json, at

COST = "kueue.x-k8s.io/preemption-cost"
EngineSearch = Callable[[Preemptor, frozenset[FlavorResource], Usage], list[PreemptionTarget]]
PlainSearch = Callable[[Preemptor, frozenset[FlavorResource], dict[FlavorResource, int]], plain_search.Victims]


@st.composite
def questions(draw: st.DrawFn, *, fair: bool) -> tuple[Scenario, list[tuple[str, str, bool, int]]]:
    """Return a cluster with costs and durations, and what is needed of which flavor; True where by preemption."""
    scenario = draw(scenarios(fair=fair))
    gates = {"PreemptionCost": draw(st.booleans()), "TimeBasedSamePriorityPreemption": draw(st.booleans())}
    for raw in scenario.objects:
        _decorate(raw, draw)
    configuration = KueueConfiguration(
        gates=FeatureGates.from_mapping({**gates, "FairSharingPreemptWithinNominal": draw(st.booleans())}),
        fair_sharing=FairSharing() if fair else None,
    )
    needs = draw(
        st.lists(
            st.tuples(st.sampled_from(FLAVORS), st.sampled_from(["cpu", "memory"]), st.booleans(), st.integers(1, 6)),
            min_size=1,
            max_size=3,
            unique_by=lambda need: need[:2],
        )
    )
    return Scenario(scenario.objects, configuration), needs


def _decorate(raw: Json, draw: st.DrawFn) -> None:
    if raw["kind"] == "Workload" and raw["metadata"]["name"] == PENDING:
        raw["spec"]["priority"] = draw(st.sampled_from([0, 5, 10, 20]))
    if raw["kind"] == "Workload" and draw(st.booleans()):
        raw["metadata"]["annotations"] = {COST: str(draw(st.sampled_from([-5, 0, 5])))}
    preemption = raw["spec"].get("preemption", {}) if raw["kind"] == "ClusterQueue" else {}
    if preemption and raw["metadata"]["name"] == "A":
        # Most random policies allow no preemption; here it matters who comes first.
        preemption["reclaimWithinCohort"] = draw(st.sampled_from(["LowerPriority", "Any", "Any"]))
        preemption["withinClusterQueue"] = draw(st.sampled_from(["LowerPriority", "LowerOrNewerEqualPriority"]))
        raw["spec"]["cohortName"] = draw(st.sampled_from(["top", "l"]))
    if preemption.get("withinClusterQueue") == "LowerOrNewerEqualPriority":
        preemption["withinClusterQueueConfig"] = {"minAdmitDuration": draw(st.sampled_from(["1m", "2m", "99h"]))}


def compare(
    question: tuple[Scenario, list[tuple[str, str, bool, int]]], engine: EngineSearch, plain: PlainSearch
) -> None:
    scenario, needs = question
    model = ClusterModel.of(scenario.objects, scenario.configuration)
    queue = model.cluster_queue("A")
    pending = model.workload(ObjectKey(NAMESPACE, PENDING))
    assert queue is not None
    assert isinstance(pending, PendingWorkload)
    preemptor = Preemptor(
        queue, pending.priority, pending.queue_time_ns, parse_time(at(4)), scenario.configuration, lambda _: 0
    )
    units = {"cpu": 1000, "memory": 1}
    usage = {model.table.get(flavor, resource): amount * units[resource] for flavor, resource, _, amount in needs}
    frs_need = frozenset(model.table.get(flavor, resource) for flavor, resource, preempts, _ in needs if preempts)
    if not frs_need:
        frs_need = frozenset(usage)
    found = engine(preemptor, frs_need, tuple(usage.items()))
    event("victims" if found else "no victims")
    got = {(target.workload.key.name, target.reason.value) for target in found}
    assert got == plain(preemptor, frs_need, usage)


@settings(max_examples=150)
@given(questions(fair=False))
def test_classical(question: tuple[Scenario, list[tuple[str, str, bool, int]]]) -> None:
    compare(question, classical_targets, plain_search.classical)


@settings(max_examples=150)
@given(questions(fair=True))
def test_fair(question: tuple[Scenario, list[tuple[str, str, bool, int]]]) -> None:
    compare(question, fair_targets, plain_search.fair)
