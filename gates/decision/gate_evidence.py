"""Whether one worker honours gates, concluded from everything that its replicas showed so far.

Every piece of evidence has a time on the worker's own clock, and the latest one counts, in whatever order replicas are
examined. A Kueue that is being upgraded is silent about new replicas while old ones still show their gates, so silence
counts only when gates have not been seen to be honoured for a while; a Kueue that handles a replica and gives it no
gate is recognised at once.
Invariant: a worker is found to ignore gates at most once per `DOUBT_NS`, whatever its replicas show.
"""

from dataclasses import dataclass, replace
from typing import Final

from gates.model.settings import MINUTE
from gates.model.view import GateSupport

TRUST_NS: Final = 10 * MINUTE
"""How long a worker that was seen to honour gates may be silent about new replicas."""
DOUBT_NS: Final = 10 * MINUTE
"""How long a worker that showed no gate is assumed not to support gates; then it is tried again."""


@dataclass(frozen=True, slots=True)
class ReplicaEvidence:
    """What one replica shows; times are the worker's."""

    support: GateSupport = GateSupport.UNKNOWN
    at_ns: int = 0
    """When its gate was handled; of a replica that shows none, when it was created."""
    is_silence: bool = False
    """Nothing on the replica shows that a Kueue has seen its gate; it is UNKNOWN while that may still come."""


NO_EVIDENCE: Final = ReplicaEvidence()


@dataclass(frozen=True, slots=True)
class Moment:
    """The time of an observation: on the worker's clock, and on the steady clock of this process."""

    worker_ns: int
    steady_ns: int


@dataclass(frozen=True, slots=True)
class Findings:
    """What is known about one worker, and which Workload may test whether it still holds."""

    knows_gates: bool = True
    """Whether the worker's own description of Workloads has gates."""
    support: GateSupport = GateSupport.UNKNOWN
    honoured_ns: int | None = None
    silent_since_ns: int | None = None
    """While the worker counts as without gates: creation of the youngest replica that no Kueue seems to have seen."""
    ignored_ns: int | None = None
    """Creation of the youngest replica that a Kueue handled without giving it a gate."""
    described_ns: int | None = None
    """When the description last changed; what was shown before is about another Kueue."""
    found_missing_at: int | None = None
    """On the steady clock: when it was last concluded that gates are ignored."""
    may_be_tried: bool = False
    tried_by: str = ""
    """The one Workload that finds out whether the worker was upgraded."""

    @property
    def is_missing(self) -> bool:
        """Tell whether the worker does not honour gates, as far as is known."""
        return not self.knows_gates or self.support is GateSupport.MISSING

    def about(self, workload: str, evidence: ReplicaEvidence = NO_EVIDENCE) -> GateSupport:
        """Return what holds for one Workload, given what its own replica shows."""
        if not self.knows_gates:
            return GateSupport.MISSING
        is_open_question = evidence.is_silence and evidence.support is GateSupport.UNKNOWN
        if self.tried_by == workload or (is_open_question and self.support is GateSupport.HONOURED):
            return GateSupport.UNKNOWN
        return self.support


def described(known: Findings, moment: Moment, *, knows_gates: bool) -> Findings:
    """Apply what the worker's own description says; reading it again allows another try."""
    if knows_gates != known.knows_gates:
        known = Findings(described_ns=moment.worker_ns, found_missing_at=known.found_missing_at)
    return replace(known, knows_gates=knows_gates, may_be_tried=True, tried_by="")


def weighed(known: Findings, evidence: ReplicaEvidence, moment: Moment, workload: str = "") -> Findings:
    """Add what the replica of one Workload shows, and conclude."""
    known = _joined(known, evidence, moment.worker_ns)
    support = _conclusion(known, moment.worker_ns)
    if support is GateSupport.MISSING and known.support is not GateSupport.MISSING:
        last = known.found_missing_at
        if last is not None and moment.steady_ns - last < DOUBT_NS:
            support = known.support
        else:
            known = replace(known, found_missing_at=moment.steady_ns)
    if support is not GateSupport.MISSING:
        known = replace(known, silent_since_ns=None)  # whether a replica is still unseen is examined again later
    is_answer = bool(known.tried_by) and known.tried_by == workload and evidence.support is not GateSupport.UNKNOWN
    if is_answer or changes_much(known.support, support):
        known = replace(known, may_be_tried=False, tried_by="")
    return replace(known, support=support)


def trying(known: Findings, workload: str) -> Findings:
    """Let a Workload that is about to be dispatched find out whether gates are still ignored, unless another does."""
    if not known.knows_gates or known.support is not GateSupport.MISSING or not known.may_be_tried:
        return known
    return replace(known, tried_by=known.tried_by or workload)


def changes_much(before: GateSupport, after: GateSupport) -> bool:
    """Tell whether a change affects other Workloads: one to or from a worker without gates does."""
    return before is not after and GateSupport.MISSING in (before, after)


def _joined(known: Findings, evidence: ReplicaEvidence, now_ns: int) -> Findings:
    """Keep the latest of each sort. A time that is still to come says no more than now."""
    honoured, silent, ignored = known.honoured_ns, known.silent_since_ns, known.ignored_ns
    at_ns = evidence.at_ns
    if known.described_ns is None or at_ns >= known.described_ns:
        if evidence.support is GateSupport.HONOURED:
            honoured = _later(honoured, at_ns)
        elif evidence.support is GateSupport.MISSING and evidence.is_silence:
            silent = _later(silent, at_ns)
        elif evidence.support is GateSupport.MISSING:
            ignored = _later(ignored, at_ns)
    return replace(
        known,
        honoured_ns=_no_later(honoured, now_ns),
        silent_since_ns=_no_later(silent, now_ns),
        ignored_ns=_no_later(ignored, now_ns),
    )


def _conclusion(known: Findings, now_ns: int) -> GateSupport:
    honoured = known.honoured_ns
    if honoured is None:
        shown = known.silent_since_ns is not None or known.ignored_ns is not None
        return GateSupport.MISSING if shown else known.support
    if known.ignored_ns is not None and known.ignored_ns > honoured:
        return GateSupport.MISSING
    is_silent = known.silent_since_ns is not None and known.silent_since_ns > honoured
    return GateSupport.MISSING if is_silent and now_ns - honoured >= TRUST_NS else GateSupport.HONOURED


def _later(known_ns: int | None, at_ns: int) -> int:
    return at_ns if known_ns is None else max(known_ns, at_ns)


def _no_later(known_ns: int | None, now_ns: int) -> int | None:
    return None if known_ns is None else min(known_ns, now_ns)
