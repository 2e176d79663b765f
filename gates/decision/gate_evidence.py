"""Whether one worker honours gates, concluded from everything that its replicas showed so far.

Every piece of evidence has a time on the worker's own clock, and the latest one counts, in whatever order replicas are
examined. A Kueue that is being upgraded is silent about new replicas while old ones still show their gates, so silence
counts only when gates have not been seen to be honoured for a while; a Kueue that handles a replica and gives it no
gate is recognised at once, as is one that preempts for a replica whose gate is closed.
Being honoured is believed without a new proof for `FRESH_NS` only: a Kueue may be restarted with the feature off, and
what is sent to several such workers at once would preempt on all of them.
Before a replica has shown anything, the Configuration of the worker's Kueue counts, and where that is silent the
default of its version.
Invariant: a worker is found to ignore gates at most once per `DOUBT_NS`, whatever its replicas show.
"""

from dataclasses import dataclass, replace
from typing import Final

from gates.model.settings import MINUTE, SECOND
from gates.model.view import GateSupport

FRESH_NS: Final = 5 * SECOND
"""How long after a gate was handled other replicas are sent without waiting for theirs to show; a Kueue that is
restarted takes about as long."""
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
    has_preempted: bool = False
    """Others were preempted for it while its gate was closed."""


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
    configured: bool | None = None
    """Whether the Configuration of its Kueue switches gates on; None where it does not say, or is not known."""
    default_on: bool = False
    """Whether its Kueue is of a version known to have gates on by default."""
    support: GateSupport = GateSupport.UNKNOWN
    honoured_ns: int | None = None
    silent_since_ns: int | None = None
    """While the worker counts as without gates: creation of the youngest replica that no Kueue seems to have seen."""
    ignored_ns: int | None = None
    """Creation of the youngest replica that a Kueue handled without giving it a gate."""
    preempted_ns: int | None = None
    """When others were last preempted for a replica whose gate was closed."""
    unanswered_ns: int | None = None
    """Creation of the youngest replica whose gate did not show in time; what is expected counts once one has since."""
    described_ns: int | None = None
    """When the description last changed; what was shown before is about another Kueue."""
    found_missing_at: int | None = None
    """On the steady clock: when it was last concluded that gates are ignored."""
    may_be_tried: bool = False
    tried_by: str = ""
    """The one Workload that finds out whether the worker was upgraded."""

    @property
    def verdict(self) -> GateSupport:
        """Return whether the worker honours gates, as far as is known."""
        if not self.knows_gates:
            return GateSupport.MISSING
        return self._expected if self.support is GateSupport.UNKNOWN else self.support

    @property
    def _is_unanswered(self) -> bool:
        return self.unanswered_ns is not None and self.unanswered_ns >= (self.honoured_ns or 0)

    @property
    def _expected(self) -> GateSupport:
        return expected_support(self.configured, default_on=self.default_on)

    def about(self, workload: str, now_ns: int, evidence: ReplicaEvidence = NO_EVIDENCE) -> GateSupport:
        """Return what holds for one Workload now, given what its own replica shows."""
        verdict = self.verdict
        if self.knows_gates and self.tried_by == workload:
            return GateSupport.UNKNOWN
        if verdict is GateSupport.MISSING or evidence.support is GateSupport.HONOURED:
            return verdict
        if evidence.support is GateSupport.MISSING:
            return GateSupport.UNKNOWN  # it honours other gates and has not reacted to this one for long
        is_fresh = self.honoured_ns is not None and now_ns - self.honoured_ns < FRESH_NS
        is_late = evidence.is_silence and now_ns - evidence.at_ns >= FRESH_NS
        is_expected = self._expected is GateSupport.HONOURED and not is_late and not self._is_unanswered
        return verdict if is_fresh or is_expected else GateSupport.UNKNOWN


def expected_support(configured: bool | None, *, default_on: bool) -> GateSupport:
    """Return what a worker's Kueue is expected to do before a replica shows it: as configured, else by default."""
    if configured is None:
        return GateSupport.HONOURED if default_on else GateSupport.UNKNOWN
    return GateSupport.HONOURED if configured else GateSupport.MISSING


def described(known: Findings, moment: Moment, *, knows_gates: bool, default_on: bool = False) -> Findings:
    """Apply what the worker's own description says; reading it again allows another try."""
    if knows_gates != known.knows_gates:
        known = Findings(
            configured=known.configured, described_ns=moment.worker_ns, found_missing_at=known.found_missing_at
        )
    return replace(known, knows_gates=knows_gates, default_on=default_on, may_be_tried=True, tried_by="")


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
    if not known.knows_gates or known.verdict is not GateSupport.MISSING or not known.may_be_tried:
        return known
    return replace(known, tried_by=known.tried_by or workload)


def changes_much(before: GateSupport, after: GateSupport) -> bool:
    """Return whether a change affects other Workloads: one to or from a worker without gates does."""
    return before is not after and GateSupport.MISSING in (before, after)


def _joined(known: Findings, evidence: ReplicaEvidence, now_ns: int) -> Findings:
    """Keep the latest of each sort. A time that is still to come says no more than now."""
    honoured, silent, ignored = known.honoured_ns, known.silent_since_ns, known.ignored_ns
    preempted, unanswered, at_ns = known.preempted_ns, known.unanswered_ns, evidence.at_ns
    if known.described_ns is None or at_ns >= known.described_ns:
        if evidence.support is GateSupport.HONOURED:
            honoured = _later(honoured, at_ns)
        elif evidence.has_preempted:
            preempted = _later(preempted, at_ns)
        elif evidence.support is GateSupport.MISSING and evidence.is_silence:
            silent = _later(silent, at_ns)
        elif evidence.support is GateSupport.MISSING:
            ignored = _later(ignored, at_ns)
        if evidence.is_silence and now_ns - at_ns >= FRESH_NS:
            unanswered = _later(unanswered, at_ns)
    return replace(
        known,
        honoured_ns=_no_later(honoured, now_ns),
        silent_since_ns=_no_later(silent, now_ns),
        ignored_ns=_no_later(ignored, now_ns),
        preempted_ns=_no_later(preempted, now_ns),
        unanswered_ns=_no_later(unanswered, now_ns),
    )


def _conclusion(known: Findings, now_ns: int) -> GateSupport:
    honoured = known.honoured_ns
    ignored = [each for each in (known.ignored_ns, known.preempted_ns) if each is not None]
    if honoured is None:
        return GateSupport.MISSING if ignored or known.silent_since_ns is not None else known.support
    if max(ignored, default=honoured) > honoured:
        return GateSupport.MISSING
    is_silent = known.silent_since_ns is not None and known.silent_since_ns > honoured
    return GateSupport.MISSING if is_silent and now_ns - honoured >= TRUST_NS else GateSupport.HONOURED


def _later(known_ns: int | None, at_ns: int) -> int:
    return at_ns if known_ns is None else max(known_ns, at_ns)


def _no_later(known_ns: int | None, now_ns: int) -> int | None:
    return None if known_ns is None else min(known_ns, now_ns)
