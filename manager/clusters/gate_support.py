"""What one worker was found to do with gates, and who may try again whether that is still so.

A worker that ignores gates preempts as soon as it has a replica. So once that is known, a single Workload at a time
may find out whether the worker was upgraded; for all others nothing changes until it has.
"""

from collections.abc import Callable

from config.api.meta import ObjectKey
from gates.decision.gate_evidence import Findings, Moment, ReplicaEvidence, changes_much, described, trying, weighed
from gates.model.view import GateSupport


class GateSupportTracker:
    """The verdict on one worker."""

    def __init__(self, on_change: Callable[[], None]) -> None:
        self._on_change = on_change
        self._known = Findings()
        self.unseen: ObjectKey | None = None
        """The last Workload whose replica had shown no gate yet."""

    @property
    def is_missing(self) -> bool:
        """Return whether the worker does not honour gates, as far as is known."""
        return self._known.is_missing

    def support(self, key: ObjectKey, evidence: ReplicaEvidence, moment: Moment) -> GateSupport:
        """Return what holds for one Workload, given what its replica shows."""
        return self._weighed(key, evidence, moment).about(str(key), evidence)

    def is_news(self, key: ObjectKey, evidence: ReplicaEvidence, moment: Moment) -> bool:
        """Tell whether what a replica shows adds to what is known."""
        is_unseen = evidence.is_silence and self.unseen != key
        return is_unseen or self._weighed(key, evidence, moment) != self._known

    def is_trial_open(self, key: ObjectKey) -> bool:
        """Tell whether a Workload could be the one that finds out whether gates are still ignored."""
        return trying(self._known, str(key)) != self._known

    def learn(self, moment: Moment, *, knows_gates: bool) -> None:
        """Take what the worker's own description says."""
        before, self._known = self._known, described(self._known, moment, knows_gates=knows_gates)
        if knows_gates != before.knows_gates or self._known.support is GateSupport.MISSING:
            self._on_change()

    def note(self, key: ObjectKey, evidence: ReplicaEvidence, moment: Moment) -> None:
        """Take what the replica of one Workload shows."""
        before, self._known = self._known, self._weighed(key, evidence, moment)
        if before.knows_gates and changes_much(before.support, self._known.support):
            self._on_change()
        if evidence.is_silence:
            self.unseen = key

    def claim_trial(self, key: ObjectKey) -> None:
        """Let a Workload find out whether gates are still ignored, unless another does."""
        self._known = trying(self._known, str(key))

    def _weighed(self, key: ObjectKey, evidence: ReplicaEvidence, moment: Moment) -> Findings:
        return weighed(self._known, evidence, moment, str(key))
