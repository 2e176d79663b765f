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
    """One Kueue. By default orchestrated preemption is on, as in v0.20."""

    configuration: KueueConfiguration = field(default_factory=_with_gates)
    dialect: GateDialect = GateDialect.KUEUE
    has_gate_fields: bool = True
    """False for a version whose Workload kind prunes preemption gates."""
    serves_v1beta1: bool = False
    """True for versions before v0.20."""

    @property
    def honours_gates(self) -> bool:
        """Return whether a closed gate stops a preemption here."""
        return self.has_gate_fields and self.configuration.gates.multi_kueue_orchestrated_preemption

    def kinds(self) -> tuple[ServedKind, ...]:
        """Return the kinds that a cluster with this Kueue serves."""
        return all_kinds(gate_dialect=self.dialect, preemption_gates=self.has_gate_fields, v1beta1=self.serves_v1beta1)


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
GATES_OFF: Final = KueueProfile(configuration=KueueConfiguration(), serves_v1beta1=True)
"""Keeps gates in the spec and preempts all the same: the feature gate is off, as it is by default before v0.20."""
BEFORE_GATES: Final = KueueProfile(configuration=KueueConfiguration(), has_gate_fields=False)
"""An older version, which prunes gates."""
