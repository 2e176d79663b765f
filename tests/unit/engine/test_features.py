"""Feature gates: defaults of Kueue v0.19.1, overrides, and clear errors."""

from dataclasses import asdict

import pytest

from engine.vocabulary.features import GATE_NAMES, FeatureGateError, FeatureGates, parse_feature_gates

OFF_BY_DEFAULT = {
    "priority_boost",
    "scheduler_timestamp_preemption_buffer",
    "scheduler_long_requeue_interval",
    "recompute_assignment_upon_preemption_targets_overlap",
    "multi_kueue_orchestrated_preemption",
    "concurrent_admission",
    "unadmitted_workloads_observability",
    "unadmitted_workloads_explicit_status",
    "time_based_same_priority_preemption",
    "preemption_cost",
}


def test_defaults_are_those_of_kueue_and_our_own_gates_are_off() -> None:
    assert {name for name, enabled in asdict(FeatureGates()).items() if not enabled} == OFF_BY_DEFAULT
    assert {"PartialAdmission", "KueueDRAIntegration", "FlavorFungibility"} <= GATE_NAMES


def test_overrides_leave_the_others_alone() -> None:
    gates = FeatureGates.from_mapping({"PriorityBoost": True, "PartialAdmission": False})
    assert gates.priority_boost
    assert not gates.partial_admission
    assert gates.flavor_fungibility


def test_gates_that_change_no_prediction_are_accepted() -> None:
    assert FeatureGates.from_mapping({"MetricsForCohorts": False, "TLSOptions": True}) == FeatureGates()


@pytest.mark.parametrize(
    "text", ["PriorityBoost=true,PartialAdmission=false", " PriorityBoost = 1 , PartialAdmission = F ,"]
)
def test_command_line_syntax(text: str) -> None:
    assert parse_feature_gates(text) == FeatureGates(priority_boost=True, partial_admission=False)


def test_empty_text_means_the_defaults() -> None:
    assert parse_feature_gates("") == FeatureGates()


def test_unknown_gate_gets_a_hint_and_the_known_ones() -> None:
    with pytest.raises(FeatureGateError, match=r"'PriorityBost', did you mean PriorityBoost\? Known: .*PreemptionCost"):
        parse_feature_gates("PriorityBost=true")


def test_unknown_gate_without_a_neighbour_lists_the_known_ones() -> None:
    with pytest.raises(FeatureGateError, match=r"unknown feature gate 'Zzz'\. Known: "):
        FeatureGates.from_mapping({"Zzz": True})


@pytest.mark.parametrize("text", ["PriorityBoost", "PriorityBoost=", "PriorityBoost=yes"])
def test_value_that_is_no_boolean_is_refused(text: str) -> None:
    with pytest.raises(FeatureGateError, match="must be NAME=true or NAME=false"):
        parse_feature_gates(text)


def test_mapping_value_that_is_no_boolean_is_refused() -> None:
    with pytest.raises(FeatureGateError, match="feature gate PriorityBoost: 'true' is not allowed: true, false"):
        FeatureGates.from_mapping({"PriorityBoost": "true"})
