"""Properties of the cluster model: history does not matter, and hypotheses leave no trace."""

from hypothesis import given
from hypothesis import strategies as st

from config.api.meta import ObjectKey, object_key, parse_time
from engine.cluster.model import ClusterModel
from engine.prediction.predict import predict
from engine.prediction.what_if import WhatIf
from tests.property.engine_clusters import PENDING, Scenario, holders, queues, scenarios
from tests.support.builders import NAMESPACE, Json, at, cohort
from tests.support.engine_state import fingerprint

KEY = ObjectKey(NAMESPACE, PENDING)
NOW = parse_time(at(100))

changed_objects = st.one_of(
    st.sampled_from(["A", "B", "C"]).flatmap(queues),
    st.sampled_from(["w0", "w1", "w2"]).flatmap(holders),
    st.sampled_from(["l", "r", "top"]).map(lambda name: cohort(name).quota("f", cpu=3)),
    # A cycle of cohorts, made and unmade again by what follows.
    st.just(cohort("top").parent("l")),
).map(lambda builder: builder.raw)


def identity(raw: Json) -> tuple[str, ObjectKey]:
    return raw["kind"], object_key(raw)


@given(scenarios(), st.lists(st.tuples(st.sampled_from(["apply", "remove", "ask"]), changed_objects), max_size=12))
def test_a_model_kept_up_to_date_equals_one_built_from_scratch(
    scenario: Scenario, changes: list[tuple[str, Json]]
) -> None:
    model = ClusterModel.of(scenario.objects, scenario.configuration)
    present = {identity(raw): raw for raw in scenario.objects}
    for action, raw in changes:
        kind, key = identity(raw)
        if action == "remove":
            model.remove(kind, key.namespace, key.name)
            present.pop((kind, key), None)
        elif action == "apply":
            model.apply(raw)
            present[kind, key] = raw
        else:
            predict(model, KEY, NOW)
    fresh = ClusterModel.of(present.values(), scenario.configuration)
    assert fingerprint(model, with_generations=False) == fingerprint(fresh, with_generations=False)
    assert predict(model, KEY, NOW) == predict(fresh, KEY, NOW)


@given(scenarios(), st.lists(st.tuples(st.booleans(), changed_objects), max_size=8))
def test_a_hypothesis_leaves_no_trace(scenario: Scenario, changes: list[tuple[bool, Json]]) -> None:
    model = ClusterModel.of(scenario.objects, scenario.configuration)
    before = fingerprint(model)
    expected = predict(model, KEY, NOW)
    with WhatIf(model) as hypothesis:
        for is_added, raw in changes:
            if is_added:
                hypothesis.add(raw)
            else:
                kind, key = identity(raw)
                hypothesis.remove(kind, key.namespace, key.name)
        hypothesis.open_gates(KEY)
        hypothesis.predict(KEY, NOW)
    assert fingerprint(model) == before
    assert predict(model, KEY, NOW) == expected
