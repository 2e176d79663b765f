"""Which Kueue a local cluster runs: its version's spelling of gates, and whether it honours them."""

from dataclasses import dataclass, field
from typing import Final

from engine.objects.configuration import KueueConfiguration
from engine.vocabulary.features import FeatureGates
from engine.vocabulary.gate_dialect import GateDialect
from localcluster.catalogue.registry import all_kinds
from localcluster.kinds.kinds import ServedKind


def _with_gates() -> KueueConfiguration:
    return KueueConfiguration(gates=FeatureGates(multi_kueue_orchestrated_preemption=True))


@dataclass(frozen=True, slots=True)
class KueueProfile:
    """One Kueue. The defaults are v0.19.1 with orchestrated preemption switched on."""

    configuration: KueueConfiguration = field(default_factory=_with_gates)
    dialect: GateDialect = GateDialect.KUEUE
    has_gate_fields: bool = True
    """False for a version whose Workload kind prunes preemption gates."""

    @property
    def honours_gates(self) -> bool:
        """Tell whether a closed gate stops a preemption here."""
        return self.has_gate_fields and self.configuration.gates.multi_kueue_orchestrated_preemption

    def kinds(self) -> tuple[ServedKind, ...]:
        """Return the kinds that a cluster with this Kueue serves."""
        return all_kinds(gate_dialect=self.dialect, preemption_gates=self.has_gate_fields)


CURRENT: Final = KueueProfile()
KEP_8303: Final = KueueProfile(dialect=GateDialect.KEP)
"""Spells the signal and the state of a gate as the KEP does."""
KEP_7990: Final = KueueProfile(
    configuration=KueueConfiguration(gates=FeatureGates(multi_kueue_orchestrated_preemption=True, preemption_cost=True))
)
"""Copies preemption costs from Jobs to Workloads, and preempts the cheapest first."""
BOOSTING: Final = KueueProfile(
    configuration=KueueConfiguration(gates=FeatureGates(multi_kueue_orchestrated_preemption=True, priority_boost=True))
)
"""Has the feature gate PriorityBoost on."""
GATES_OFF: Final = KueueProfile(configuration=KueueConfiguration())
"""Keeps gates in the spec and preempts all the same: the feature gate is off, as it is by default."""
BEFORE_GATES: Final = KueueProfile(configuration=KueueConfiguration(), has_gate_fields=False)
"""An older version, which prunes gates."""
