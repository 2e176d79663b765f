"""W-54: what holds for every forecast, whatever the mode."""

from collections.abc import Iterable
from random import Random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from config.api.meta import ObjectKey
from engine.pods.predict import predict_group, predict_pod
from engine.pods.state.model import PodModel
from engine.pods.values.answer import EvictedUnit, PodCycleOutcome, PodCycleResult, PodForecast, UnitKind
from engine.pods.values.load import NodeLoad
from engine.pods.values.values import BoundPod, Node, PendingPod, SchedulerMode
from tests.support.builders import Json
from tests.support.pod_situations import PENDING_GROUP, PENDING_POD, Situation, random_situation

situations = st.builds(random_situation, st.randoms(use_true_random=False))
modes = st.sampled_from(SchedulerMode)
GROUP = ObjectKey("default", PENDING_GROUP)
POD = ObjectKey("default", PENDING_POD)


def ask(situation: Situation, mode: SchedulerMode, objects: list[Json] | None = None) -> tuple[PodModel, PodForecast]:
    model = PodModel.of(situation.objects if objects is None else objects)
    if situation.asks_for_group:
        return model, predict_group(model, GROUP, mode)
    return model, predict_pod(model, POD, mode)


def preemptor_priority(model: PodModel, situation: Situation) -> int:
    return model.groups[GROUP].priority if situation.asks_for_group else model.pending[POD].priority


def load_without(model: PodModel, node: str, gone: Iterable[ObjectKey]) -> NodeLoad:
    """Return the load of a node once these pods are gone, added up again."""
    load, absent = NodeLoad(), set(gone)
    for pod in model.nodes[node].pods.values():
        if pod.key not in absent:
            load.add(pod.footprint)
    return load


def node_of(model: PodModel, name: str) -> Node:
    node = model.nodes[name].node
    assert node is not None
    return node


def all_fit(model: PodModel, gone: Iterable[ObjectKey], placed: list[tuple[PendingPod, str]]) -> bool:
    """Return whether pods fit on their nodes one after another once others are gone."""
    absent = list(gone)
    loads = {name: load_without(model, name, absent) for _, name in placed}
    for pod, name in placed:
        if not loads[name].fits(node_of(model, name), pod.footprint):
            return False
        loads[name].add(pod.footprint)
    return True


def preempting(found: PodForecast) -> list[PodCycleOutcome]:
    return [outcome for outcome in found.outcomes if outcome.result is PodCycleResult.PREEMPTING]


def room_made(found: PodForecast) -> set[PodCycleResult]:
    """Return the results, where it makes no difference whether those who have to go are going already.

    A budget may decide for a node where they are, which without it was only as good as another.
    """
    return {PodCycleResult.PREEMPTING if o.result is PodCycleResult.WAITING else o.result for o in found.outcomes}


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(situations, modes)
def test_nothing_of_equal_or_higher_priority_is_evicted(situation: Situation, mode: SchedulerMode) -> None:
    model, found = ask(situation, mode)
    priority = preemptor_priority(model, situation)
    assert all(unit.priority < priority for outcome in found.outcomes for unit in outcome.units)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(situations, st.sampled_from([SchedulerMode.V1_37, SchedulerMode.KEP]))
def test_a_group_in_all_mode_is_evicted_whole_or_not_at_all(situation: Situation, mode: SchedulerMode) -> None:
    model, found = ask(situation, mode)
    for outcome in found.outcomes:
        victims = {pod for unit in outcome.units for pod in unit.pods}
        for key, group in model.groups.items():
            members = set(model.bound_members(key))
            if group.is_one_unit and not (mode is SchedulerMode.KEP and group.min_count is None):
                assert not members & victims or members <= victims


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(situations, st.sampled_from([SchedulerMode.V1_37, SchedulerMode.KEP]))
def test_room_is_made_and_every_evicted_unit_was_needed_for_it(situation: Situation, mode: SchedulerMode) -> None:
    model, found = ask(situation, mode)
    for outcome in preempting(found):
        everybody = [pod for unit in outcome.units for pod in unit.pods]
        placed = [
            (model.pending[key], name)
            for key, name in sorted(outcome.nominated.items(), key=lambda entry: model.pending[entry[0]].arrival)
        ]
        # A member that could not be placed keeps the nomination of an earlier cycle, for which no room was made.
        new = [(pod, name) for pod, name in placed if pod.nominated_node != name]
        assert all_fit(model, everybody, new)
        for unit in outcome.units if new == placed else ():
            others = [pod for pod in everybody if pod not in unit.pods]
            assert not all_fit(model, others, placed)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(situations)
def test_release_36_makes_room_for_a_pod_on_its_node_and_for_no_more(situation: Situation) -> None:
    model, found = ask(situation, SchedulerMode.V1_36)
    for outcome in preempting(found):
        if situation.asks_for_group:
            continue
        ((key, name),) = outcome.nominated.items()
        everybody = [pod for unit in outcome.units for pod in unit.pods]
        assert all_fit(model, everybody, [(model.pending[key], name)])
        for unit in outcome.units:
            assert unit.kind is UnitKind.POD
            others = [pod for pod in everybody if pod not in unit.pods]
            assert not all_fit(model, others, [(model.pending[key], name)])


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(situations, modes)
def test_budgets_order_evictions_and_never_forbid_them(situation: Situation, mode: SchedulerMode) -> None:
    without = [raw for raw in situation.objects if raw["kind"] != "PodDisruptionBudget"]
    _, found = ask(situation, mode)
    _, free = ask(situation, mode, without)
    assert room_made(found) == room_made(free)
    assert not any(unit.is_violating for outcome in free.outcomes for unit in outcome.units)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(situations, st.sampled_from([SchedulerMode.V1_37, SchedulerMode.KEP]))
def test_a_unit_overdraws_only_where_a_budget_covers_it(situation: Situation, mode: SchedulerMode) -> None:
    model, found = ask(situation, mode)
    for outcome in found.outcomes:
        for unit in outcome.units:
            if unit.is_violating:
                assert any(pod.labels.get("app") for pod in pods_of(model, unit))


def pods_of(model: PodModel, unit: EvictedUnit) -> list[BoundPod]:
    found = [model.bound_pod(key) for key in unit.pods]
    return [pod for pod in found if pod is not None]


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(situations, modes, st.randoms(use_true_random=False))
def test_the_order_of_the_objects_does_not_matter(situation: Situation, mode: SchedulerMode, shuffler: Random) -> None:
    _, expected = ask(situation, mode)
    pending = [raw for raw in situation.pods if not raw["spec"].get("nodeName")]
    others = [raw for raw in situation.objects if raw not in pending]
    shuffler.shuffle(others)
    _, got = ask(situation, mode, [*others, *pending])
    if expected.is_complete and got.is_complete:
        assert {outcome.identity for outcome in got.outcomes} == {outcome.identity for outcome in expected.outcomes}


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(situations, modes)
def test_a_forecast_leaves_no_trace(situation: Situation, mode: SchedulerMode) -> None:
    model, found = ask(situation, mode)
    before = {name: (state.load.used, state.load.pods, len(state.pods)) for name, state in model.nodes.items()}
    again = predict_group(model, GROUP, mode, explain=True) if situation.asks_for_group else None
    again = again or predict_pod(model, POD, mode, explain=True)
    assert again.outcomes == found.outcomes
    assert {name: (state.load.used, state.load.pods, len(state.pods)) for name, state in model.nodes.items()} == before
