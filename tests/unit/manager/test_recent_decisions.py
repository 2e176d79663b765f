"""What was done last, for a view of the whole fleet."""

from config.api.identifiers import WorkerName
from gates.model.actions import CreateReplica, Decision, EmitEvent, PatchHubStatus, Step
from gates.model.hub_workload import CheckState
from gates.model.rules import Rule
from manager.reconcile.reconciliation import ExecutedAction, Reconciliation
from manager.telemetry.recent_decisions import RecentDecisions
from tests.support.worker_names import W1
from tests.unit.gates.groups import NOW, SETTINGS, group, hub


def executed(action: CreateReplica | PatchHubStatus | EmitEvent, at_ns: int = NOW) -> ExecutedAction:
    """Make an action that was carried out for the Workload ns/wl."""
    decision = Decision(next(iter(Rule)), (Step((action,)),))
    return ExecutedAction(Reconciliation(group(hub()), at_ns, SETTINGS, {}, decision), action, at_ns, at_ns)


def test_the_newest_comes_first_and_the_oldest_makes_room() -> None:
    kept = RecentDecisions(kept=3)
    for number in range(5):
        kept.note_executed(executed(CreateReplica(WorkerName(f"w{number}"))))
    assert [each["worker"] for each in kept.newest(None, 10)] == ["w4", "w3", "w2"]
    assert [each["worker"] for each in kept.newest(None, 1)] == ["w4"]


def test_an_entry_says_what_was_done_to_which_workload() -> None:
    kept = RecentDecisions()
    kept.note_executed(executed(PatchHubStatus(check_state=CheckState.READY, check_message="on w1", cluster_name=W1)))
    found = [(each["namespace"], each["name"], each["event"], each["worker"]) for each in kept.newest("ns", 10)]
    assert found == [("ns", "wl", "Ready", ""), ("ns", "wl", "Won", "w1")]
    assert kept.newest("other", 10) == []


def test_what_is_told_twice_or_means_nothing_to_a_reader_is_left_out() -> None:
    kept = RecentDecisions()
    kept.note_executed(executed(EmitEvent("Reason", "message")))
    for _ in range(2):
        kept.note_executed(executed(CreateReplica(W1)))
    assert len(kept.newest(None, 10)) == 1
