"""What is remembered of one Workload from reconcile to reconcile, while another controller orchestrates it."""

from dataclasses import replace

from config.api.identifiers import ReplicaUID, WorkerName
from engine.forecasting.forecast import Cost, Forecast, ForecastVerdict, ForecastVictim
from engine.forecasting.verification import Evicted, ForecastResult
from gates.assembly.gate_support import GRACE_NS
from gates.model.forecasts import Witness
from gates.model.settings import MINUTE, SECOND
from gates.model.view import GateSupport, Reach, WorkerView, WorkloadView
from gates.shadow.episodes import CopyEvidence, Memory, due_ns, loss_of, observe, recalled, record_of
from gates.shadow.hindsight import LostWork, PreemptionStart
from tests.support.worker_names import W1, W2
from tests.unit.gates.groups import (
    NOW,
    SETTINGS,
    T,
    condition,
    group,
    hub,
    opened,
    replica,
    signalled,
    without_quota,
    worker,
)

VICTIM = ForecastVictim("ns", "a", "a", "cq", "InClusterQueue", pods=1, running_since_ns=NOW - 60 * SECOND)
TOLD = Forecast(ForecastVerdict.PREEMPTS, NOW, flavors=(("cpu", "f"),), victims=(VICTIM,), cost=Cost(victims=1))
LATER = replace(TOLD, made_ns=NOW + SECOND)
LOSS = LostWork("ns/a", "a", "InClusterQueue", 1, 60)
NO_EVIDENCE: dict[WorkerName, CopyEvidence] = {}


def look(
    memory: Memory | None, seen: WorkloadView, evidence: dict[WorkerName, CopyEvidence] = NO_EVIDENCE, now: int = NOW
) -> Memory:
    after = observe(memory, seen, evidence, now, SETTINGS)
    assert after is not None
    return after


def asking(name: str) -> WorkerView:
    return worker(name, signalled(name, at=NOW), forecast=TOLD)


def ungated(name: str, **fields: object) -> WorkerView:
    return worker(name, replica(name, has_gate=False, **fields))


def clusters(memory: Memory) -> list[str]:
    return [start.cluster for start in memory.episode.starts]


def test_nothing_is_remembered_of_what_has_no_quota() -> None:
    assert observe(None, group(without_quota(hub()), worker("w1")), NO_EVIDENCE, NOW, SETTINGS) is None
    assert observe(None, group(hub(check=None), worker("w1")), NO_EVIDENCE, NOW, SETTINGS) is None


def test_an_opening_starts_with_the_forecast_that_was_made_before_it() -> None:
    memory = look(None, group(hub(), asking("w1"), asking("w2")))
    assert memory.episode.starts == ()
    late = worker("w1", opened("w1", at=NOW), forecast=LATER)
    memory = look(memory, group(hub(), late, asking("w2")))
    (start,) = memory.episode.starts
    assert (start.cluster, start.gated, start.opened_ns, start.forecast) == ("w1", True, NOW, TOLD)
    assert start.result is ForecastResult.PENDING
    assert len(memory.episode.choices) == 3
    assert memory.trial(W1) == record_of(start)
    assert memory.trial(W2) is None
    again = look(memory, group(hub(), late, asking("w2")))
    assert again == memory


def test_a_second_gate_within_the_timeout_is_a_breach_and_after_it_is_not() -> None:
    first = look(None, group(hub(), worker("w1", opened("w1", at=NOW)), asking("w2")))
    for after, want in ((T - SECOND, 1), (T, 0)):
        second = worker("w2", opened("w2", at=NOW + after))
        memory = look(first, group(hub(), worker("w1", opened("w1", at=NOW)), second), now=NOW + after)
        assert clusters(memory) == ["w1", "w2"]
        assert len(memory.episode.breaches) == want


def test_two_gates_that_are_first_seen_together_are_told_apart_by_their_times() -> None:
    seen = group(hub(), worker("w1", opened("w1", at=NOW)), worker("w2", opened("w2", at=NOW - 10 * SECOND)))
    memory = look(None, seen)
    (breach,) = memory.episode.breaches
    assert (breach.first, breach.second, breach.gated) == ("w2", "w1", True)


def test_an_opening_on_a_cluster_that_is_lost_still_counts() -> None:
    first = look(None, group(hub(), worker("w1", opened("w1", at=NOW)), asking("w2")))
    lost = worker("w1", reach=Reach.LOST)
    memory = look(first, group(hub(), lost, worker("w2", opened("w2", at=NOW + SECOND))), now=NOW + SECOND)
    assert len(memory.episode.breaches) == 1


def test_after_an_eviction_the_next_gate_may_open_at_once() -> None:
    first = look(None, group(hub(), worker("w1", opened("w1", at=NOW)), asking("w2")))
    evicted = worker("w1", replica("w1", condition("Evicted", at=NOW + SECOND)))
    second = worker("w2", opened("w2", at=NOW + 2 * SECOND))
    memory = look(first, group(hub(), evicted, second), now=NOW + 2 * SECOND)
    assert memory.episode.breaches == ()


def test_copies_without_gates_start_with_their_first_victim() -> None:
    foreseen = look(None, group(hub(), worker("w1", forecast=TOLD), worker("w2", forecast=TOLD)))
    seen = group(hub(), ungated("w1"), ungated("w2"))
    memory = look(foreseen, seen)
    assert clusters(memory) == []
    assert [suspect.cluster for suspect in memory.suspects] == ["w1", "w2"]
    memory = look(memory, seen, {W1: CopyEvidence((LOSS,))})
    (start,) = memory.episode.starts
    assert (start.cluster, start.gated, start.losses, start.forecast) == ("w1", False, (LOSS,), TOLD)
    other = replace(LOSS, uid="b", workload="ns/b")
    memory = look(memory, seen, {W2: CopyEvidence((other,))}, now=NOW + SECOND)
    (breach,) = memory.episode.breaches
    assert (breach.first, breach.second, breach.gated) == ("w1", "w2", False)
    assert memory.suspects == ()


def test_a_gate_that_is_not_honoured_does_not_count() -> None:
    seen = group(hub(), worker("w1", replica("w1"), gates=GateSupport.MISSING))
    memory = look(look(None, seen), seen, {W1: CopyEvidence((LOSS,))})
    assert [start.gated for start in memory.episode.starts] == [False]


def test_a_forecast_of_a_copy_that_may_already_preempt_does_not_replace_the_first() -> None:
    memory = look(None, group(hub(), worker("w1", forecast=TOLD)))
    memory = look(memory, group(hub(), replace(ungated("w1"), forecast=LATER)))
    assert memory.forecasts == {"w1": TOLD}


def test_a_suspect_that_is_gone_is_dropped_once_the_model_has_caught_up() -> None:
    memory = look(None, group(hub(), ungated("w1")))
    gone = group(hub(), worker("w1"))
    behind = look(memory, gone, {W1: CopyEvidence(is_behind=True)})
    assert len(behind.suspects) == 1
    assert look(behind, gone).suspects == ()
    assert len(look(behind, gone, {W1: CopyEvidence((LOSS,))}).episode.starts) == 1


def test_quota_without_a_miss_is_exact() -> None:
    memory = look(None, group(hub(), asking("w1")))
    memory = look(memory, group(hub(), worker("w1", opened("w1", at=NOW))))
    witness = Witness((("cpu", "f"),), (Evicted("ns", "a", "a", "InClusterQueue"),))
    has_quota = opened("w1", at=NOW)
    has_quota = replace(has_quota, conditions={"QuotaReserved": condition("QuotaReserved")})
    done = group(hub(), worker("w1", has_quota, witness=witness))
    (start,) = look(memory, done, {W1: CopyEvidence((LOSS,))}, now=NOW + SECOND).episode.starts
    assert (start.result, start.losses, start.verified_ns) == (ForecastResult.EXACT, (LOSS,), NOW + SECOND)


def test_victims_that_were_seen_once_stay() -> None:
    seen = group(hub(), worker("w1", opened("w1", at=NOW)))
    memory = look(look(None, seen), seen, {W1: CopyEvidence((LOSS,))})
    (start,) = look(memory, seen, {W1: CopyEvidence()}).episode.starts
    assert start.losses == (LOSS,)


def test_a_copy_that_is_withdrawn_is_judged_once_the_model_has_caught_up() -> None:
    memory = look(None, group(hub(), worker("w1", opened("w1", at=NOW))))
    gone = group(hub(), worker("w1"))
    (behind,) = look(memory, gone, {W1: CopyEvidence(is_behind=True)}).episode.starts
    assert behind.result is ForecastResult.PENDING
    (done,) = look(memory, gone, {W1: CopyEvidence((LOSS,))}).episode.starts
    assert (done.result, done.losses) == (ForecastResult.OVERTAKEN, (LOSS,))


def test_a_workload_that_is_gone_ends_what_was_under_way() -> None:
    memory = look(None, group(hub(), worker("w1", opened("w1", at=NOW))))
    (start,) = look(memory, group(hub(deleted=True))).episode.starts
    assert (start.result, start.message) == (ForecastResult.OVERTAKEN, "the Workload is gone")


def test_a_new_attempt_is_a_new_episode_and_old_openings_are_known() -> None:
    memory = look(None, group(hub(), worker("w1", opened("w1", at=NOW))))
    memory = look(memory, group(without_quota(hub()), worker("w1")))
    assert memory.episode.is_settled
    again = hub(condition("QuotaReserved", at=NOW + MINUTE))
    second = look(memory, group(again, worker("w1")), now=NOW + MINUTE)
    assert second.episode.attempt_ns == NOW + MINUTE
    assert second.episode.starts == ()
    assert second.openings == ()


def test_another_workload_of_the_same_name_starts_over() -> None:
    memory = look(None, group(hub(), worker("w1", opened("w1", at=NOW))))
    other = look(memory, group(hub(uid="another"), worker("w1")))
    assert other.episode.uid == "another"
    assert other.openings == ()
    assert observe(memory, group(without_quota(hub(uid="another"))), NO_EVIDENCE, NOW, SETTINGS) is None


def test_what_was_written_down_is_not_begun_twice() -> None:
    seen = group(hub(), worker("w1", opened("w1", at=NOW)))
    memory = look(None, seen)
    assert clusters(look(recalled(memory.episode), seen)) == ["w1"]


def test_the_next_look_is_due_when_a_window_ends_or_silence_speaks() -> None:
    seen = group(hub(), worker("w1", opened("w1", at=NOW)))
    memory = look(None, seen)
    assert due_ns(memory, seen, NOW + SECOND, SETTINGS) == NOW + T
    silent = group(hub(), worker("w1", replica("w1"), gates=GateSupport.UNKNOWN))
    assert due_ns(look(None, silent), silent, NOW, SETTINGS) == NOW + GRACE_NS + SECOND
    assert due_ns(look(None, group(hub())), group(hub()), NOW, SETTINGS) is None


def test_when_a_victim_began_is_taken_from_the_forecast_if_it_says_so_no_more() -> None:
    evicted = Evicted("ns", "a", "a", "r")
    start = PreemptionStart(W1, ReplicaUID("u"), NOW, NOW, gated=True, forecast=TOLD)
    assert loss_of(evicted, 2, None, NOW, start) == LostWork("ns/a", "a", "r", 2, 60)
    assert loss_of(evicted, 2, NOW - SECOND, NOW, start).seconds == 1
    assert loss_of(evicted, 2, None, NOW, replace(start, forecast=None)).seconds == 0
