"""How one worker spells gates, and whether it honours them."""

from collections.abc import Callable

from config.api.identifiers import WorkerName
from config.api.meta import Obj, ObjectKey
from engine.vocabulary.gate_dialect import GateDialect
from gates.assembly.gate_support import evidence_of, shows_gate
from gates.decision.gate_evidence import NO_EVIDENCE, Moment, ReplicaEvidence
from gates.detection.detected import DetectedKueue
from gates.detection.gate_switch import agreed
from gates.diagnosis.gate_remarks import gates_document, gates_remark
from gates.model.local_actions import WorkerNews
from gates.model.settings import UngatedPolicy
from gates.model.view import GateSupport
from gates.wire.records import ReplicaRecord
from manager.clusters.gate_support import GateSupportTracker
from manager.logging.logs import get_log


class WorkerGates:
    """What is known of gates on one worker; `moment` reads the clocks."""

    def __init__(
        self,
        name: WorkerName,
        moment: Callable[[], Moment],
        replica_of: Callable[[ObjectKey], object],
        policy: Callable[[], UngatedPolicy],
        on_change: Callable[[], None],
        on_news: Callable[[], None],
    ) -> None:
        self.dialect = GateDialect.KUEUE
        self._name = name
        self._moment = moment
        self._replica_of = replica_of
        self._policy = policy
        self._tracker = GateSupportTracker(self._reporting(on_change), self._reporting(on_news))
        self._reported = ""
        self._configured: bool | None = None

    @property
    def verdict(self) -> GateSupport:
        """Return whether the worker's Kueue honours gates, as far as is known."""
        return self._tracker.verdict

    @property
    def document(self) -> Obj:
        """Return the verdict and what follows from it, for programs."""
        return gates_document(self.verdict, self._policy())

    @property
    def remark(self) -> str:
        """Return what is worth knowing of gates on the worker, nothing if they are honoured."""
        return gates_remark(self._tracker.findings, self._policy())

    def report(self) -> None:
        """Log what is known of gates, once for each change."""
        remark = self.remark
        if remark == self._reported:
            return
        self._reported = remark
        if self.verdict is GateSupport.HONOURED:
            get_log().info("worker.gates_honoured", worker=self._name)
        elif self.verdict is GateSupport.UNKNOWN:
            get_log().warning("worker.gates_unknown", worker=self._name, message=remark)
        else:
            get_log().warning("worker.gates_not_honoured", worker=self._name, message=remark)

    def _reporting(self, tell: Callable[[], None]) -> Callable[[], None]:
        def report() -> None:
            self.report()
            tell()

        return report

    def support(
        self, key: ObjectKey, replica: ReplicaRecord | None, preempted_ns: int | None = None
    ) -> tuple[GateSupport, frozenset[WorkerNews]]:
        """Return whether the worker honours gates for a Workload, and what of that was not noted yet."""
        moment = self._moment()
        evidence = self._evidence(replica, moment, preempted_ns)
        found = {
            WorkerNews.GATE_EVIDENCE: self._tracker.is_news(key, evidence, moment),
            WorkerNews.GATE_TRIAL_OPEN: self._tracker.is_trial_open(key),
        }
        return self._tracker.support(key, evidence, moment), frozenset(news for news, is_so in found.items() if is_so)

    def is_silent_to_others(self, key: ObjectKey) -> bool:
        """Tell whether the worker's Kueue has not reacted to the replica of another Workload for a while."""
        if self._tracker.unseen in (None, key):
            return False
        moment = self._moment()
        return self._tracker.is_unanswered(self._evidence(self._unseen_replica(), moment), moment)

    def note_change(self, key: ObjectKey) -> None:
        """Wake the Workloads that were not sent while the Kueue was silent, if this replica shows that it is over."""
        if self._tracker.unseen != key:
            return
        replica = self._unseen_replica()
        if replica is None or shows_gate(replica, self.dialect):
            self._tracker.answered(self._moment())

    def note_evidence(self, key: ObjectKey, replica: ReplicaRecord | None, preempted_ns: int | None = None) -> None:
        """Take what the replica of a Workload shows about gates."""
        moment = self._moment()
        self._tracker.note(key, self._evidence(replica, moment, preempted_ns), moment)

    def examine_unseen(self) -> None:
        """Take what the last replica that had shown no gate shows now."""
        if self._tracker.unseen is not None:
            self.note_evidence(self._tracker.unseen, self._unseen_replica())

    def configure(self, *, is_on: bool | None) -> None:
        """Take what the file with the Configuration of the worker's Kueue says of gates."""
        self._configured = is_on

    def _unseen_replica(self) -> ReplicaRecord | None:
        found = self._replica_of(self._tracker.unseen) if self._tracker.unseen is not None else None
        return found if isinstance(found, ReplicaRecord) else None

    def claim_trial(self, key: ObjectKey) -> None:
        """Let a Workload find out whether the worker still ignores gates."""
        self._tracker.claim_trial(key)

    def learn(self, found: DetectedKueue) -> None:
        """Take what the worker tells about its Kueue."""
        if not found.schema.is_described:
            get_log().warning("worker.schema_unread", worker=self._name, error="it does not describe Workloads")
            return
        self.dialect = found.schema.dialect or GateDialect.KUEUE
        self._tracker.learn(
            self._moment(),
            knows_gates=found.knows_gates,
            default_on=found.has_gates_on,
            configured=agreed(self._configured, found.gates_switched),
        )

    def _evidence(
        self, replica: ReplicaRecord | None, moment: Moment, preempted_ns: int | None = None
    ) -> ReplicaEvidence:
        if replica is None:
            return NO_EVIDENCE
        return evidence_of(replica, self.dialect, moment.worker_ns - replica.created_ns, preempted_ns)
