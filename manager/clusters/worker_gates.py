"""How one worker spells gates, and whether it honours them."""

from collections.abc import Callable

from config.api.meta import Obj, ObjectKey
from engine.vocabulary.gate_dialect import GateDialect
from gates.assembly.gate_support import describes_workloads, dialect_served, evidence_of
from gates.decision.gate_evidence import NO_EVIDENCE, Moment, ReplicaEvidence
from gates.model.local_actions import WorkerNews
from gates.model.view import GateSupport
from gates.wire.records import ReplicaRecord
from manager.clusters.gate_support import GateSupportTracker
from manager.logging.logs import get_log


class WorkerGates:
    """What is known of gates on one worker; `moment` reads the clocks."""

    def __init__(self, name: str, moment: Callable[[], Moment], on_change: Callable[[], None]) -> None:
        self.dialect = GateDialect.KUEUE
        self._name = name
        self._moment = moment
        self._tracker = GateSupportTracker(on_change)

    @property
    def are_missing(self) -> bool:
        """Return whether the worker's Kueue does not honour gates, as far as is known."""
        return self._tracker.is_missing

    @property
    def unseen(self) -> ObjectKey | None:
        """Return the last Workload whose replica had shown no gate yet."""
        return self._tracker.unseen

    def support(self, key: ObjectKey, replica: ReplicaRecord | None) -> tuple[GateSupport, frozenset[WorkerNews]]:
        """Return whether the worker honours gates for a Workload, and what of that was not noted yet."""
        moment = self._moment()
        evidence = self._evidence(replica, moment)
        found = {
            WorkerNews.GATE_EVIDENCE: self._tracker.is_news(key, evidence, moment),
            WorkerNews.GATE_TRIAL_OPEN: self._tracker.is_trial_open(key),
        }
        return self._tracker.support(key, evidence, moment), frozenset(news for news, is_so in found.items() if is_so)

    def note_evidence(self, key: ObjectKey, replica: ReplicaRecord | None) -> None:
        """Take what the replica of a Workload shows about gates."""
        moment = self._moment()
        self._tracker.note(key, self._evidence(replica, moment), moment)

    def claim_trial(self, key: ObjectKey) -> None:
        """Let a Workload find out whether the worker still ignores gates."""
        self._tracker.claim_trial(key)

    def learn(self, openapi: Obj) -> None:
        """Take what the worker's own description says."""
        if not describes_workloads(openapi):
            get_log().warning("worker.schema_unread", worker=self._name, error="it does not describe Workloads")
            return
        dialect, knows_gates = dialect_served(openapi)
        self.dialect = dialect or GateDialect.KUEUE
        self._tracker.learn(self._moment(), knows_gates=knows_gates)

    def _evidence(self, replica: ReplicaRecord | None, moment: Moment) -> ReplicaEvidence:
        if replica is None:
            return NO_EVIDENCE
        return evidence_of(replica, self.dialect, moment.worker_ns - replica.created_ns)
