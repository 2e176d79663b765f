"""What one worker was found to do with gates, and who may try again whether that is still so.

A worker that ignores gates preempts as soon as it has a replica. So once that is known, a single Workload at a time
may find out whether the worker was upgraded; for all others nothing changes until it has.
"""

from collections.abc import Callable

from gates.view import GateSupport
from workerclient.kind import Key


class GateJudgement:
    """The verdict on one worker."""

    def __init__(self, on_change: Callable[[], None]) -> None:
        self._on_change = on_change
        self._knows_gates = True
        self._verdict = GateSupport.UNKNOWN
        self._may_be_tried = False
        self._tried_by: Key | None = None

    @property
    def is_missing(self) -> bool:
        """Return whether the worker does not honour gates, as far as is known."""
        return not self._knows_gates or self._verdict is GateSupport.MISSING

    def learn(self, *, knows_gates: bool) -> None:
        """Take what the worker's own description says; a new look at it is a new chance."""
        changed = knows_gates != self._knows_gates
        self._knows_gates = knows_gates
        if changed:
            self._verdict = GateSupport.UNKNOWN
        self._may_be_tried, self._tried_by = True, None
        if changed or self._verdict is GateSupport.MISSING:
            self._on_change()

    def judge(self, key: Key, verdict: GateSupport, *, may_try: bool) -> GateSupport:
        """Return what holds for one Workload, after what its replica showed."""
        if not self._knows_gates:
            return GateSupport.MISSING
        if verdict is not GateSupport.UNKNOWN:
            self._take(key, verdict)
        if self._verdict is GateSupport.MISSING and self._may_be_tried and may_try:
            self._tried_by = self._tried_by or key
        return GateSupport.UNKNOWN if self._tried_by == key else self._verdict

    def _take(self, key: Key, verdict: GateSupport) -> None:
        changed = GateSupport.MISSING in (verdict, self._verdict) and verdict is not self._verdict
        if changed or self._tried_by == key:
            self._may_be_tried, self._tried_by = False, None
        self._verdict = verdict
        if changed:
            self._on_change()
