"""What a pending workload remembers of its last flavor scan, and for how long that is believed.

The next scan goes on where the last one ended. The memory lives only in Kueue's process: a prediction from objects
alone starts without it.
"""

from collections.abc import Hashable
from dataclasses import dataclass

from engine.vocabulary.assignment import ScanMemory, has_untried_flavors
from engine.vocabulary.features import FeatureGates


@dataclass(frozen=True, slots=True)
class ScanRecord:
    """Where a scan ended, and the circumstances in which it was made."""

    tried: ScanMemory
    generation: int
    """Of the ClusterQueue: it grows whenever room may have been made."""
    cycle: int
    shape: Hashable | None
    """What made the workload equivalent to others then; None where that is not computed."""

    @property
    def has_untried_flavors(self) -> bool:
        """Return whether the scan ended before the last flavor."""
        return has_untried_flavors(self.tried)

    def is_of_shape(self, shape: Hashable | None) -> bool:
        """Return whether the workload still asks for the same; an unknown shape is taken to be unchanged."""
        return shape is None or self.shape is None or shape == self.shape

    def is_outdated(self, generation: int, cycle: int, shape: Hashable | None, gates: FeatureGates) -> bool:
        """Return whether the scan must start over."""
        if gates.flavor_fungibility_preserve_scan_progress:
            if not self.is_of_shape(shape):
                return True
            if cycle - self.cycle <= 1:
                return False
        return generation > self.generation
