"""Feature gates by version: defaults, overrides, gates of other versions, and clear errors."""

from dataclasses import asdict

import pytest

from engine.versions.gates import hint_for, parse_feature_gates
from engine.versions.profiles import profile_of
from engine.vocabulary.features import GATE_NAMES, FeatureGateError, FeatureGates

OFF_BY_DEFAULT = {
    "priority_boost",
    "scheduler_timestamp_preemption_buffer",
    "scheduler_long_requeue_interval",
    "recompute_assignment_upon_preemption_targets_overlap",
    "multi_kueue_orchestrated_preemption",
    "concurrent_admission",
    "unadmitted_workloads_observability",
    "unadmitted_workloads_explicit_status",
    "tas_balanced_placement",
    "tas_respect_node_affinity_preferred",
    "tas_partial_slices",
    "tas_grouped_pod_set_slicing",
    "tas_leader_pod_set_feasibility",
    "tas_node_feasibility_for_all_levels",
    "scheduler_library_integration",
    "fair_sharing_refill",
    "fair_sharing_reevaluate_preemption_candidates",
    "prioritize_preemptor_workloads",
    "time_based_same_priority_preemption",
    "preemption_cost",
}


def gates_of(version: str | None, given: dict[str, object] | None = None) -> FeatureGates:
    return profile_of(version).gate_table.settings(given or {}).gates


def test_the_reference_has_the_defaults_of_the_class() -> None:
    assert {name for name, enabled in asdict(FeatureGates()).items() if not enabled} == OFF_BY_DEFAULT
    assert {"PartialAdmission", "KueueDRAIntegration", "FlavorFungibility"} <= GATE_NAMES
    assert gates_of(None) == gates_of("v0.19.1") == gates_of("v0.19.2") == FeatureGates()


@pytest.mark.parametrize(
    ("version", "want"),
    [
        ("v0.19.0", {"flavor_fungibility_preserve_scan_progress": False}),
        (
            "v0.18.3",
            {
                "flavor_fungibility_preserve_scan_progress": False,
                "quota_check_strategy": False,
                "admission_gated_by": False,
                "kueue_dra_integration_extended_resource": False,
                "skip_reassignment_for_pod_owned_workloads": False,
                "tas_assignments_encoding_by_hostname_prefix": False,
            },
        ),
        (
            "v0.17.1",
            {
                "flavor_fungibility_preserve_scan_progress": False,
                "quota_check_strategy": False,
                "admission_gated_by": False,
                "kueue_dra_integration": False,
                "kueue_dra_integration_extended_resource": False,
                "skip_reassignment_for_pod_owned_workloads": False,
                "scheduling_equivalence_hashing": False,
                "elastic_jobs_via_workload_slices": False,
                "tas_handle_overlapping_flavors": False,
                "tas_recompute_assignment_within_scheduling_cycle": False,
                "tas_assignments_encoding_by_hostname_prefix": False,
            },
        ),
        (
            "v0.20.0",
            {
                "recompute_assignment_upon_preemption_targets_overlap": True,
                "unadmitted_workloads_observability": True,
                "multi_kueue_orchestrated_preemption": True,
                "tas_partial_slices": True,
                "tas_grouped_pod_set_slicing": True,
                "tas_leader_pod_set_feasibility": True,
                "tas_node_feasibility_for_all_levels": True,
            },
        ),
    ],
)
def test_a_version_has_its_own_defaults(version: str, want: dict[str, bool]) -> None:
    reference, gates = asdict(FeatureGates()), asdict(gates_of(version))
    assert {name: on for name, on in gates.items() if reference[name] != on} == want


def test_overrides_leave_the_others_alone() -> None:
    gates = gates_of(None, {"PriorityBoost": True, "PartialAdmission": False})
    assert gates == FeatureGates(priority_boost=True, partial_admission=False)


def test_gates_that_change_no_prediction_are_accepted() -> None:
    settings = profile_of("v0.19.2").gate_table.settings({"MetricsForCohorts": False, "TLSOptions": True})
    assert settings.gates == FeatureGates()
    assert settings.unknown == ()


def test_a_gate_that_is_locked_stays_on() -> None:
    assert profile_of("v0.18.3").gate_table.settings({"LendingLimit": False}).unknown == ()


def test_the_old_names_of_dynamic_resource_allocation() -> None:
    gates = gates_of("v0.17.1", {"DynamicResourceAllocation": True})
    assert gates.kueue_dra_integration
    assert not gates.kueue_dra_integration_extended_resource


def test_all_gates_of_a_stage_follow_their_group_unless_they_are_named() -> None:
    gates = gates_of("v0.19.2", {"AllAlpha": True, "PriorityBoost": False, "AllBeta": False, "PartialAdmission": True})
    assert gates.concurrent_admission
    assert gates.multi_kueue_orchestrated_preemption
    assert not gates.priority_boost
    assert gates.partial_admission
    assert not gates.flavor_fungibility
    assert not gates.preemption_cost, "Turnstile's own gates are of no stage"


def test_a_gate_of_another_version_is_reported_and_has_no_effect_where_all_gates_are_known() -> None:
    settings = profile_of("v0.17.1").gate_table.settings({"ConcurrentAdmission": True, "Unheard": True})
    assert settings.unknown == ("ConcurrentAdmission", "Unheard")
    assert not settings.gates.concurrent_admission


def test_a_gate_of_another_version_is_reported_and_heeded_where_the_version_is_not_known_well() -> None:
    settings = profile_of("v0.16.9").gate_table.settings({"PriorityBoost": True})
    assert settings.unknown == ("PriorityBoost",)
    assert settings.gates.priority_boost


@pytest.mark.parametrize(
    "text", ["PriorityBoost=true,PartialAdmission=false", " PriorityBoost = 1 , PartialAdmission = F ,"]
)
def test_command_line_syntax(text: str) -> None:
    assert parse_feature_gates(text) == {"PriorityBoost": True, "PartialAdmission": False}


def test_empty_text_names_no_gate() -> None:
    assert parse_feature_gates("") == {}


def test_unknown_gate_on_the_command_line_gets_a_hint_and_the_known_ones() -> None:
    with pytest.raises(FeatureGateError, match=r"'PriorityBost', did you mean PriorityBoost\? Known: .*PreemptionCost"):
        parse_feature_gates("PriorityBost=true")


def test_unknown_gate_without_a_neighbour_lists_the_known_ones() -> None:
    with pytest.raises(FeatureGateError, match=r"unknown feature gate 'Zzz'\. Known: "):
        parse_feature_gates("Zzz=true")


def test_a_gate_of_any_version_and_of_a_group_is_taken_on_the_command_line() -> None:
    assert parse_feature_gates("FairSharingRefill=true,AllAlpha=false") == {
        "FairSharingRefill": True,
        "AllAlpha": False,
    }


@pytest.mark.parametrize("text", ["PriorityBoost", "PriorityBoost=", "PriorityBoost=yes"])
def test_value_that_is_no_boolean_is_refused(text: str) -> None:
    with pytest.raises(FeatureGateError, match="must be NAME=true or NAME=false"):
        parse_feature_gates(text)


@pytest.mark.parametrize("value", ["true", 1, None, [], {}])
def test_mapping_value_that_is_no_boolean_is_refused(value: object) -> None:
    with pytest.raises(FeatureGateError, match=r"feature gate PriorityBoost: .* is not allowed: true, false"):
        profile_of(None).gate_table.settings({"PriorityBoost": value})


def test_no_hint_for_a_gate_that_exists() -> None:
    assert hint_for("FairSharingRefill") == hint_for("Zzz") == ""
    assert hint_for("PartialAdmision") == ", did you mean PartialAdmission?"
