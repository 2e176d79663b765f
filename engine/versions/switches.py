"""The rules that no feature gate controls and that differ between versions of Kueue.

This is the only list of them: each switch says what it changes and which versions have it.
"""

from dataclasses import dataclass, field, fields
from typing import Final, Self

from engine.versions.version import KueueVersion, value_at

REFERENCE: Final = KueueVersion(0, 19, 1)
"""The version whose rules hold where none is named."""
_ON: Final = "on"


def _switch(history: str, effect: str) -> bool:
    on: bool = field(default=value_at(history, REFERENCE) == _ON, metadata={"history": history, "effect": effect})
    return on


@dataclass(frozen=True, slots=True)
class Switches:
    """What one version of Kueue does; the defaults are those of the reference."""

    matches_group_label_keys: bool = _switch(
        "0.15:on 0.17.6:off 0.18:on 0.18.2:off",
        "a flavor is refused for a node label that only another flavor of its resource group has",
    )
    counts_pods_in_target_search: bool = _switch(
        "0.15:on 0.18:off 0.20:on", "the search for victims counts the resource `pods` of the preemptor"
    )
    ranks_no_candidates_last: bool = _switch(
        "0.18.5:on 0.19.0:off 0.19.1:on",
        "a flavor that needs preemption without candidates is worse than any that can be used, whatever the preference",
    )
    swaps_fungibility_preferences: bool = _switch(
        "0.15:on 0.16.2:off", "BorrowingOverPreemption and PreemptionOverBorrowing act as each other"
    )

    wraps_large_amounts: bool = _switch(
        "0.15:on 0.18:off", "quotas and sums beyond the largest int64 wrap around instead of meaning no limit"
    )
    trusts_large_requests: bool = _switch(
        "0.15:on 0.18.5:off 0.19.0:on 0.19.1:off",
        "requests beyond the largest int64 (other than of cpu from v0.18 on) become small or negative instead of the "
        "largest, and a negative request makes room",
    )
    places_pods_in_topologies: bool = _switch(
        "0.18:on",
        "usage on Nodes is what the pods request; versions that count it otherwise are answered as unsupported",
    )
    places_leaders_and_layers: bool = _switch(
        "0.19.1:on",
        "a leader is placed so that its workers keep their room, and slices have layers; in versions without it both "
        "are answered as unsupported",
    )

    words_shortages_at_random: bool = _switch(
        "0.15:on 0.18.5:off 0.19.0:on 0.19.1:off",
        "what lacks in a flavor is listed up to the first resource that can never fit, in random order; as every new "
        "wording is written, and every write makes the workload's scan of flavors start over, cycles depend on it",
    )
    parks_equals_after_any_failure: bool = _switch(
        "0.15:on 0.18:off",
        "with gate SchedulingEquivalenceHashing every failure that parks a workload parks those like it, not only one "
        "for lack of quota or of candidates",
    )
    compares_written_requests: bool = _switch(
        "0.15:on 0.18:off", "workloads are alike by what their pods say, whatever they come to request by that"
    )
    variants_honour_gates: bool = _switch(
        "0.19.0:on", "gate ConcurrentAdmission, too, makes closed preemption gates count"
    )
    retries_when_flavors_change: bool = _switch(
        "0.18.5:on 0.19.0:off 0.19.1:on", "a change of a ResourceFlavor lets what is parked try again"
    )
    capitalizes_namespace_texts: bool = _switch(
        "0.15:on 0.19.0:off", "what is said of a namespace that is missing or does not match begins with a capital"
    )

    crashes_without_cohort: bool = _switch(
        "0.15:on 0.18:off",
        "fair sharing makes Kueue crash when a ClusterQueue without cohort cannot preempt enough of its own workloads",
    )

    @classmethod
    def of(cls, version: KueueVersion) -> Self:
        """Return the rules of a version."""
        return cls(**{each.name: value_at(each.metadata["history"], version) == _ON for each in fields(cls)})
