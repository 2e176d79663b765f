"""Which workers a Workload may go to: annotations, labels, and what is said about those that are ruled out."""

from dataclasses import replace

import pytest

from config.api.identifiers import WorkerName
from gates.decision.decide import decide
from gates.decision.dispatch import MOST_NOMINATED, nominate
from gates.decision.opening import Idle, next_gate
from gates.model.actions import CreateReplica, EmitEvent, OpenGate, PatchHubStatus, RemoveRemote
from gates.model.activity import ConfigRecord, config_record
from gates.model.rules import Rule
from gates.model.settings import MINUTE, Dispatcher, Settings
from gates.model.view import WorkerView, WorkloadView
from gates.targets.matching import WorkerTraits, exclusion_of, selected, unknown_names
from gates.targets.rules import (
    CLUSTER_NAMES,
    CLUSTER_SELECTOR,
    NO_RULES,
    Exclusion,
    ExclusionRule,
    TargetRules,
    target_annotations,
    target_rules,
)
from tests.support.worker_names import W1, W2, W3
from tests.unit.gates.groups import NOW, T, condition, group, hub, opened, replica, signalled, worker

OUT = Exclusion(ExclusionRule.CLUSTER_NAMES, "not named")

# --- annotations

RULES = {
    "no annotation": ({}, {}, NO_RULES),
    "names on the Workload": ({CLUSTER_NAMES: "w1, w2"}, {}, TargetRules((W1, W2))),
    "names on the job": ({}, {CLUSTER_NAMES: "w2"}, TargetRules((W2,))),
    "the same on both": ({CLUSTER_NAMES: "w2"}, {CLUSTER_NAMES: "w2"}, TargetRules((W2,))),
    "a name twice": ({CLUSTER_NAMES: "w1,w1"}, {}, TargetRules((W1,))),
    "a selector": ({CLUSTER_SELECTOR: " tier=gold "}, {}, TargetRules(selector="tier=gold")),
    "names on one, a selector on the other": (
        {CLUSTER_NAMES: "w1"},
        {CLUSTER_SELECTOR: "tier"},
        TargetRules((W1,), "tier"),
    ),
}


@pytest.mark.parametrize(("workload", "job", "want"), RULES.values(), ids=RULES)
def test_rules_are_read_from_workload_and_job(workload: dict[str, str], job: dict[str, str], want: TargetRules) -> None:
    assert target_rules(workload, job) == want


BROKEN = {
    "no name": ({CLUSTER_NAMES: ""}, {}, "separated by commas"),
    "a comma too many": ({CLUSTER_NAMES: "w1,,w2"}, {}, "separated by commas"),
    "too many names": ({CLUSTER_NAMES: ",".join(f"w{n}" for n in range(300))}, {}, "must have at most 256"),
    "no selector": ({CLUSTER_SELECTOR: "tier = (gold"}, {}, "must be a label selector"),
    "an empty selector": ({CLUSTER_SELECTOR: ""}, {}, "must be a label selector"),
    "different names on both": ({CLUSTER_NAMES: "w1"}, {CLUSTER_NAMES: "w2"}, "must be the same on both"),
    "different selectors on both": ({CLUSTER_SELECTOR: "a"}, {CLUSTER_SELECTOR: "b"}, "must be the same on both"),
}


@pytest.mark.parametrize(("workload", "job", "said"), BROKEN.values(), ids=BROKEN)
def test_what_cannot_be_read_is_told(workload: dict[str, str], job: dict[str, str], said: str) -> None:
    problem = target_rules(workload, job).problem
    assert said in problem
    assert next(iter({**workload, **job})) in problem, "the annotation is named"
    assert len(problem) < 500


def test_other_annotations_are_left_alone() -> None:
    assert target_annotations({CLUSTER_NAMES: "w1", "example.com/a": "b"}) == {CLUSTER_NAMES: "w1"}


# --- matching

GOLD, SILVER = WorkerTraits({"tier": "gold"}), WorkerTraits({"tier": "silver"})
EXCLUSIONS = {
    "no rule": (NO_RULES, GOLD, None),
    "named": (TargetRules((W1,)), GOLD, None),
    "not named": (TargetRules((W2,)), GOLD, ExclusionRule.CLUSTER_NAMES),
    "selected": (TargetRules(selector="tier=gold"), GOLD, None),
    "not selected": (TargetRules(selector="tier=gold"), SILVER, ExclusionRule.CLUSTER_SELECTOR),
    "without labels": (TargetRules(selector="tier"), WorkerTraits(), ExclusionRule.CLUSTER_SELECTOR),
    "as many pod sets as its API takes": (NO_RULES, WorkerTraits(most_pod_sets=9), None),
    "more pod sets than its API takes": (NO_RULES, WorkerTraits(most_pod_sets=8), ExclusionRule.API_LIMIT),
    "named, but not selected": (TargetRules((W1,), "tier=gold"), SILVER, ExclusionRule.CLUSTER_SELECTOR),
}


@pytest.mark.parametrize(("rules", "traits", "want"), EXCLUSIONS.values(), ids=EXCLUSIONS)
def test_a_rule_takes_workers_away(rules: TargetRules, traits: WorkerTraits, want: ExclusionRule | None) -> None:
    found = exclusion_of(rules, W1, traits, pod_sets=9)
    assert (found.rule if found is not None else None) == want


def test_a_config_with_a_selector_lists_what_matches_the_listed_ones_first() -> None:
    labels = {W1: {"a": "1"}, W2: {}, W3: {"a": "1"}, WorkerName("w0"): {"a": "1"}}
    assert selected("a", (W3, W2), labels) == (W3, "w0", W1)


def test_the_selector_of_a_config_is_read() -> None:
    raw = {"metadata": {"name": "c", "annotations": {CLUSTER_SELECTOR: "a=1"}}, "spec": {"clusters": ["w1"]}}
    assert config_record(raw) == ConfigRecord("c", (W1,), "a=1")
    raw["metadata"] = {"name": "c", "annotations": {CLUSTER_SELECTOR: "a=(("}}
    assert CLUSTER_SELECTOR in config_record(raw).problem


def test_names_that_are_not_listed_are_found() -> None:
    assert unknown_names(TargetRules((W1, W3)), [W1, W2]) == (W3,)


# --- decisions


def out(name: str, *args: object, **fields: object) -> WorkerView:
    return replace(worker(name, *args, **fields), exclusion=OUT)  # type: ignore[arg-type]


@pytest.mark.parametrize("mode", [Dispatcher.ALL_AT_ONCE, Dispatcher.INCREMENTAL, Dispatcher.FORECAST_FIRST])
def test_every_dispatcher_leaves_out_what_is_ruled_out(mode: Dispatcher) -> None:
    view = group(hub(), worker("w1"), out("w2"), worker("w3"))
    assert nominate(view, NOW, Settings(dispatcher=mode), {}).clusters == ("w1", "w3")


def test_an_external_nomination_of_a_worker_that_is_ruled_out_is_not_followed_nor_changed() -> None:
    view = group(hub(nominated=("w1", "w2")), worker("w1"), out("w2"))
    decision = decide(view, NOW, Settings(dispatcher=Dispatcher.EXTERNAL), {})
    assert [a.cluster for a in decision.actions if isinstance(a, CreateReplica)] == ["w1"]
    assert all(a.nominated is None for a in decision.actions if isinstance(a, PatchHubStatus))


def test_a_replica_goes_when_its_worker_is_ruled_out_later() -> None:
    view = group(hub(nominated=("w1", "w2")), worker("w1", replica("w1")), out("w2", replica("w2")))
    actions = decide(view, NOW, Settings(), {}).actions
    assert [a.cluster for a in actions if isinstance(a, RemoveRemote)] == ["w2"]


def test_no_gate_opens_on_a_worker_that_is_ruled_out() -> None:
    view = group(hub(nominated=("w1", "w2")), worker("w1", replica("w1")), out("w2", signalled("w2", at=NOW)))
    assert isinstance(next_gate(view, NOW, Settings()), Idle)


def test_the_check_says_which_rule_rules_out_which_worker_and_which_names_are_unknown() -> None:
    rules = TargetRules((W1, WorkerName("w9")))
    excluded = exclusion_of(rules, W2, WorkerTraits())
    view = group(hub(targets=rules), worker("w1"), worker("w2", exclusion=excluded), worker("w3", exclusion=excluded))
    (patch,) = (a for a in decide(view, NOW, Settings(), {}).actions if isinstance(a, PatchHubStatus))
    assert patch.check_message == (
        f"Pending on w1; ruled out: w2, w3 (annotation {CLUSTER_NAMES} does not name it); "
        f"annotation {CLUSTER_NAMES} names clusters that the MultiKueueConfig does not list: w9"
    )


def test_a_workload_that_may_go_nowhere_is_told_so() -> None:
    (patch,) = decide(group(hub(), out("w1"), out("w2")), NOW, Settings(), {}).actions
    assert isinstance(patch, PatchHubStatus)
    assert patch.check_message == "No worker may be used; ruled out: w1, w2 (not named)"


def test_an_annotation_that_cannot_be_read_changes_nothing_and_is_told_once() -> None:
    workers = (worker("w1", signalled("w1", at=NOW - MINUTE)), worker("w2"))
    view = group(hub(targets=TargetRules(problem="it is broken"), nominated=("w1",)), *workers)
    decision = decide(view, NOW, Settings(), {})
    assert decision.rule is Rule.TARGETS_INVALID
    assert decision.actions == (
        PatchHubStatus(check_message="it is broken"),
        EmitEvent("MultiKueue", "it is broken", warning=True),
    )
    told = replace(view.workload, check=replace(view.workload.check, message="it is broken"))  # type: ignore[type-var]
    assert decide(replace(view, workload=told), NOW, Settings(), {}).actions == ()


# --- more workers than the hub takes nominations

MANY = tuple(worker(f"w{number}") for number in range(1, 31))


def crowd(nominated: tuple[str, ...] = (), *, started: int | None = None, **changed: WorkerView) -> WorkloadView:
    workload = hub(nominated=tuple(map(WorkerName, nominated)), round_started_ns=started)
    return group(workload, *(changed.get(each.name, each) for each in MANY))


def numbered(*numbers: int) -> tuple[str, ...]:
    return tuple(f"w{number}" for number in numbers)


FIRST = numbered(*range(1, MOST_NOMINATED + 1))


def test_no_more_are_nominated_than_the_hub_takes() -> None:
    found = nominate(crowd(), NOW, Settings(), {})
    assert (found.clusters, found.changed, found.round_started_ns) == (FIRST, True, NOW)


def test_they_stay_for_a_round() -> None:
    found = nominate(crowd(FIRST, started=NOW - MINUTE), NOW, Settings(), {})
    assert (found.clusters, found.changed, found.requeue_ns) == (FIRST, False, 4 * MINUTE + 1)


def test_after_a_round_the_others_have_their_turn() -> None:
    found = nominate(crowd(FIRST, started=NOW - 6 * MINUTE), NOW, Settings(), {})
    assert found.clusters == numbered(*range(21, 31), *range(1, 11))
    again = nominate(crowd(found.clusters, started=NOW - 6 * MINUTE), NOW, Settings(), {})
    assert again.clusters == numbered(*range(11, 31))


def test_who_may_soon_admit_stays_beyond_the_round() -> None:
    reserved = worker("w2", replica("w2", condition("QuotaReserved")))
    asking = worker("w4", signalled("w4", at=NOW))
    opening = worker("w6", opened("w6", at=NOW - T // 2))
    over = worker("w15", opened("w15", at=NOW - 2 * T))
    view = crowd(FIRST, started=NOW - 6 * MINUTE, w2=reserved, w4=asking, w6=opening, w15=over)
    found = nominate(view, NOW, Settings(), {})
    assert found.clusters[:3] == ("w2", "w4", "w6")
    assert "w15" not in found.clusters
    assert len(found.clusters) == MOST_NOMINATED


def test_rounds_end_at_the_same_limit() -> None:
    settings = Settings(dispatcher=Dispatcher.INCREMENTAL, step_size=7)
    started = NOW - 6 * MINUTE
    found = nominate(crowd(numbered(*range(1, 15)), started=started), NOW, settings, {})
    assert found.clusters == FIRST
    found = nominate(crowd(FIRST, started=started), NOW, settings, {})
    assert found.clusters == numbered(*range(21, 31), *range(1, 11))


def test_the_place_of_a_worker_that_is_lost_is_filled_at_once() -> None:
    lost = replace(worker("w3"), exclusion=OUT)
    found = nominate(crowd(FIRST, started=NOW - MINUTE, w3=lost), NOW, Settings(), {})
    assert set(found.clusters) == {*FIRST, "w21"} - {"w3"}


def test_no_gate_opens_before_a_rule_is_repaired() -> None:
    view = group(hub(targets=TargetRules(problem="broken")), worker("w1", signalled("w1", at=NOW - MINUTE)))
    assert not [a for a in decide(view, NOW, Settings(), {}).actions if isinstance(a, OpenGate)]
