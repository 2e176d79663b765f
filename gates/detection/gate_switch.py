"""Whether a Kueue has preemption gates switched on, by its Configuration, its arguments and its version.

Invariant: gates are on only where the pods that run are known to have been started with what says so.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from engine.versions.version import KueueVersion
from gates.detection.installation import KueueDeployment

FEATURE_GATE: Final = "MultiKueueOrchestratedPreemption"
FIRST_WITH_GATES: Final = 17
FIRST_WITH_GATES_ON: Final = 20


@dataclass(frozen=True, slots=True)
class KueueSettings:
    """What a cluster's Kueue was configured with, as far as it may be read."""

    deployment: KueueDeployment | None = None
    configuration: Mapping[str, object] | None = None
    """The Configuration of its ConfigMap."""
    changed_ns: int | None = None
    """When the ConfigMap was last written."""
    problem: str = ""
    """Why the Configuration cannot be used although it may be read."""

    @property
    def gates(self) -> Mapping[str, object]:
        """Return the feature gates that are named; those of arguments replace those of the Configuration."""
        if self.deployment is not None and self.deployment.gates:
            return self.deployment.gates
        named = (self.configuration or {}).get("featureGates")
        return named if isinstance(named, dict) else {}

    @property
    def is_complete(self) -> bool:
        """Return whether a gate that is not named has its default."""
        return self.deployment is not None and self.configuration is not None and not self.problem

    @property
    def is_in_effect(self) -> bool:
        """Return whether the pods that run were started with what is configured now.

        A rollout that ended after the ConfigMap was changed counts, though it may have begun before that.
        """
        rolled_out_ns = self.deployment.rolled_out_ns if self.deployment is not None else None
        return rolled_out_ns is not None and (self.changed_ns is None or self.changed_ns <= rolled_out_ns)

    @property
    def problems(self) -> tuple[str, ...]:
        """Return what is wrong with the configuration, one sentence each."""
        odd = sorted(name for name, value in self.gates.items() if not isinstance(value, bool))
        listed = ", ".join(name[:_SHOWN] for name in odd[:_LISTED])
        wrong = (f"the feature gates {listed} of its Kueue are neither true nor false",) if odd else ()
        return (*((self.problem,) if self.problem else ()), *wrong)


_SHOWN: Final = 64
_LISTED: Final = 3
UNREAD: Final = KueueSettings()


def gates_switched(settings: KueueSettings, version: KueueVersion | None) -> bool | None:
    """Return whether gates are switched on; None where that cannot be told, and the default counts."""
    said = settings.gates.get(FEATURE_GATE)
    if said is None:
        said = _by_stage(settings.gates, version)
    if said is None and settings.is_complete and version is not None and version.minor < FIRST_WITH_GATES_ON:
        return False
    if not isinstance(said, bool):
        return None
    return None if said and not settings.is_in_effect else said


def _by_stage(gates: Mapping[str, object], version: KueueVersion | None) -> object:
    """Return what is said of all gates of the stage that this one is in."""
    if version is None:
        return None
    return gates.get("AllBeta" if version.minor >= FIRST_WITH_GATES_ON else "AllAlpha")


def agreed(configured: bool | None, read: bool | None) -> bool | None:
    """Return what counts of what the operator's file says and what was read on the cluster: gates are on if both agree.

    Either may be silent.
    """
    said = [each for each in (configured, read) if each is not None]
    return all(said) if said else None
