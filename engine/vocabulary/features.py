"""Feature gates that change what the engine predicts.

The defaults are those of Kueue v0.19.1; `engine.versions` knows those of others. Two gates are the product's own: they
switch on KEP-7990's preemption cost and KEP-8522's time-based preemption, which no released Kueue has. Each gate is an
attribute in snake_case, so that reading one costs no more than reading any other attribute.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Final, Self


class FeatureGateError(ValueError):
    """A gate that no Kueue has, or a value that is not a boolean."""


@dataclass(frozen=True, slots=True)
class FeatureGates:
    """The state of every gate the engine knows."""

    partial_admission: bool = True
    flavor_fungibility: bool = True
    flavor_fungibility_preserve_scan_progress: bool = True
    priority_sorting_within_cohort: bool = True
    reclaimable_pods: bool = True
    scheduling_equivalence_hashing: bool = True
    fair_sharing_preempt_within_nominal: bool = True
    fair_sharing_prioritize_non_borrowing: bool = True
    topology_aware_scheduling: bool = True
    admission_gated_by: bool = True
    admission_fair_sharing: bool = True
    quota_check_strategy: bool = True
    elastic_jobs_via_workload_slices: bool = True
    kueue_dra_integration: bool = True
    kueue_dra_integration_extended_resource: bool = True
    skip_reassignment_for_pod_owned_workloads: bool = True
    tas_profile_mixed: bool = True
    tas_handle_overlapping_flavors: bool = True
    tas_recompute_assignment_within_scheduling_cycle: bool = True
    tas_assignments_encoding_by_hostname_prefix: bool = True
    tas_balanced_placement: bool = False
    tas_respect_node_affinity_preferred: bool = False
    tas_partial_slices: bool = False
    tas_grouped_pod_set_slicing: bool = False
    tas_leader_pod_set_feasibility: bool = False
    tas_node_feasibility_for_all_levels: bool = False
    scheduler_library_integration: bool = False
    priority_boost: bool = False
    scheduler_timestamp_preemption_buffer: bool = False
    scheduler_long_requeue_interval: bool = False
    recompute_assignment_upon_preemption_targets_overlap: bool = False
    multi_kueue_orchestrated_preemption: bool = False
    concurrent_admission: bool = False
    unadmitted_workloads_observability: bool = False
    unadmitted_workloads_explicit_status: bool = False
    fair_sharing_refill: bool = False
    fair_sharing_reevaluate_preemption_candidates: bool = False
    prioritize_preemptor_workloads: bool = False
    time_based_same_priority_preemption: bool = False
    preemption_cost: bool = False

    @classmethod
    def from_mapping(cls, gates: Mapping[str, bool]) -> Self:
        """Return the defaults with `gates` (name as Kueue spells it → boolean) on top; others change no prediction."""
        return cls(**{_ATTRIBUTE_OF_GATE[name]: on for name, on in gates.items() if name in _ATTRIBUTE_OF_GATE})


def _gate_name(attribute: str) -> str:
    name = "".join(word.capitalize() for word in attribute.split("_"))
    return name.replace("Dra", "DRA").replace("Tas", "TAS")


_ATTRIBUTE_OF_GATE: Final[Mapping[str, str]] = {_gate_name(field.name): field.name for field in fields(FeatureGates)}
GATE_NAMES: Final = frozenset(_ATTRIBUTE_OF_GATE)
