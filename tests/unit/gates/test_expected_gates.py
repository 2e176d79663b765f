"""Whether a worker honours gates: what a replica shows counts before the Configuration, and that before the version."""

import pytest

from engine.vocabulary.gate_dialect import GateDialect
from gates.decision.gate_evidence import FRESH_NS, Findings, Moment, ReplicaEvidence, described, weighed
from gates.diagnosis.capabilities import gate_findings
from gates.model.settings import SECOND, UngatedPolicy
from gates.model.view import GateSupport

NOW = 1_800_000_000 * SECOND
MISSING, HONOURED, UNKNOWN = GateSupport.MISSING, GateSupport.HONOURED, GateSupport.UNKNOWN

VERDICTS: dict[str, tuple[Findings, GateSupport]] = {
    "nothing is known": (Findings(), UNKNOWN),
    "v0.20": (Findings(default_on=True), HONOURED),
    "v0.20, configured off": (Findings(default_on=True, configured=False), MISSING),
    "v0.20, configured on": (Findings(default_on=True, configured=True), HONOURED),
    "older, configured on": (Findings(configured=True), HONOURED),
    "older, configured off": (Findings(configured=False), MISSING),
    "v0.20, and a replica shows no gate": (Findings(default_on=True, support=MISSING), MISSING),
    "configured off, and a replica shows its gate": (Findings(configured=False, support=HONOURED), HONOURED),
    "configured on, and a replica shows no gate": (Findings(configured=True, support=MISSING), MISSING),
    "the schema has no gates": (Findings(knows_gates=False, default_on=True, configured=True), MISSING),
}


@pytest.mark.parametrize(("known", "want"), VERDICTS.values(), ids=VERDICTS.keys())
def test_the_order_of_evidence(known: Findings, want: GateSupport) -> None:
    assert known.verdict is want


def test_the_version_counts_until_a_replica_is_late() -> None:
    known = Findings(default_on=True)
    silent = ReplicaEvidence(UNKNOWN, NOW, is_silence=True)
    assert known.about("ns/a", NOW) is HONOURED
    assert known.about("ns/a", NOW + FRESH_NS - 1, silent) is HONOURED
    assert known.about("ns/a", NOW + FRESH_NS, silent) is UNKNOWN


def test_once_a_replica_was_late_the_version_counts_again_when_one_shows_its_gate() -> None:
    late = Moment(NOW + FRESH_NS, 0)
    known = weighed(Findings(default_on=True), ReplicaEvidence(UNKNOWN, NOW, is_silence=True), late, "ns/a")
    assert known.about("ns/a", late.worker_ns) is UNKNOWN, "or it would be taken back and sent again for ever"
    known = weighed(known, ReplicaEvidence(HONOURED, NOW + 1), late, "ns/a")
    assert known.about("ns/b", NOW + 100 * FRESH_NS) is HONOURED


def test_a_preemption_through_a_closed_gate_counts_before_the_version_at_once() -> None:
    breach = ReplicaEvidence(MISSING, NOW, has_preempted=True)
    known = weighed(Findings(default_on=True), breach, Moment(NOW, 0), "ns/a")
    assert known.verdict is MISSING


def test_an_upgrade_and_a_downgrade_are_noticed_when_the_description_is_read_again() -> None:
    moment = Moment(NOW, 0)
    upgraded = described(Findings(), moment, knows_gates=True, default_on=True)
    assert upgraded.verdict is HONOURED
    assert described(upgraded, moment, knows_gates=True, default_on=False).verdict is UNKNOWN
    ignoring = Findings(support=MISSING)
    tried = described(ignoring, moment, knows_gates=True, default_on=True)
    assert (tried.verdict, tried.may_be_tried) == (MISSING, True), "one Workload finds out"


@pytest.mark.parametrize(("configured", "want"), [(None, 0), (True, 0), (False, 1)])
def test_doctor_warns_of_v0_20_only_if_its_configuration_switches_gates_off(configured: bool | None, want: int) -> None:
    policy, dialect = UngatedPolicy.SEQUENTIAL, GateDialect.KUEUE
    found = gate_findings(
        "w1",
        knows_gates=True,
        replicas=(),
        dialect=dialect,
        policy=policy,
        configured=configured,
        default_on=True,
    )
    assert len(list(found)) == want
