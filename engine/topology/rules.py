"""What changes from one Kueue to the next, and what its feature gates switch."""

from dataclasses import dataclass
from typing import Self

from engine.vocabulary.features import FeatureGates


@dataclass(frozen=True, slots=True)
class TopologyRules:
    """How one Kueue places pods; the defaults are those of v0.19."""

    profile_mixed: bool = True
    """Pods that may go anywhere go to the domain with the least free room that holds them."""
    handle_overlapping_flavors: bool = True
    """Flavors that share Nodes see each other's workloads."""

    @classmethod
    def of(cls, gates: FeatureGates) -> Self:
        """Return the rules of a Kueue with these gates."""
        return cls(
            profile_mixed=gates.tas_profile_mixed, handle_overlapping_flavors=gates.tas_handle_overlapping_flavors
        )
