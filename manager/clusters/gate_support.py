"""What one worker was found to do with gates, and who may try again whether that is still so.

A worker that ignores gates preempts as soon as it has a replica. So once that is known, a single Workload at a time
may find out whether the worker was upgraded; for all others nothing changes until it has.
"""

from collections.abc import Callable
from dataclasses import replace

from config.api.meta import ObjectKey
from gates.decision.gate_evidence import (
    FRESH_NS,
    Findings,
    Moment,
    ReplicaEvidence,
    changes_much,
    described,
    trying,
    weighed,
)
from gates.model.view import GateSupport


class GateSupportTracker:
    """The verdict on one worker: `on_change` wakes its Workloads, `on_news` is told of every other change."""

    def __init__(self, on_change: Callable[[], None], on_news: Callable[[], None] = lambda: None) -> None:
        self._on_change = on_change
        self._on_news = on_news
        self.findings = Findings()
        self.unseen: ObjectKey | None = None
        """The last Workload whose replica had shown no gate yet."""
        self._unseen_ns = 0

    @property
    def verdict(self) -> GateSupport:
        """Return whether the worker honours gates, as far as is known."""
        return self.findings.verdict

    def support(self, key: ObjectKey, evidence: ReplicaEvidence, moment: Moment) -> GateSupport:
        """Return what holds for one Workload, given what its replica shows."""
        return self._weighed(key, evidence, moment).about(str(key), moment.worker_ns, evidence)

    def is_news(self, key: ObjectKey, evidence: ReplicaEvidence, moment: Moment) -> bool:
        """Return whether what a replica shows adds to what is known."""
        is_unseen = evidence.is_silence and self.unseen != key
        return is_unseen or self._weighed(key, evidence, moment) != self.findings

    def is_trial_open(self, key: ObjectKey) -> bool:
        """Return whether a Workload could be the one that finds out whether gates are still ignored."""
        return trying(self.findings, str(key)) != self.findings

    def is_unanswered(self, evidence: ReplicaEvidence, moment: Moment) -> bool:
        """Return whether a Kueue should have reacted to that replica by now, and has shown no gate since."""
        honoured_ns = self.findings.honoured_ns
        is_late = evidence.is_silence and moment.worker_ns - evidence.at_ns >= FRESH_NS
        is_open_question = self.verdict is not GateSupport.MISSING
        return is_open_question and is_late and (honoured_ns is None or honoured_ns < evidence.at_ns)

    def learn(
        self, moment: Moment, *, knows_gates: bool, default_on: bool = False, configured: bool | None = None
    ) -> None:
        """Take what the worker's own description says, and how its Kueue is configured; None where that is silent."""
        before = self.findings
        known = described(before, moment, knows_gates=knows_gates, default_on=default_on)
        self.findings = replace(known, configured=configured)
        is_other = (knows_gates, self.verdict) != (before.knows_gates, before.verdict)
        if is_other or self.findings.support is GateSupport.MISSING:
            self._on_change()

    def note(self, key: ObjectKey, evidence: ReplicaEvidence, moment: Moment) -> None:
        """Take what the replica of one Workload shows."""
        before, self.findings = self.findings, self._weighed(key, evidence, moment)
        if changes_much(before.verdict, self.findings.verdict):
            self._on_change()
        elif before.verdict is not self.findings.verdict:
            self._on_news()
        if evidence.is_silence:
            self.unseen, self._unseen_ns = key, evidence.at_ns

    def answered(self, moment: Moment) -> None:
        """Take note that the last replica without a gate shows one now, or is gone."""
        self.unseen = None
        if moment.worker_ns - self._unseen_ns >= FRESH_NS:
            self._on_change()

    def claim_trial(self, key: ObjectKey) -> None:
        """Let a Workload find out whether gates are still ignored, unless another does."""
        self.findings = trying(self.findings, str(key))

    def _weighed(self, key: ObjectKey, evidence: ReplicaEvidence, moment: Moment) -> Findings:
        return weighed(self.findings, evidence, moment, str(key))
