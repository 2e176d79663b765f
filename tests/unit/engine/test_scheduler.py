"""The scheduler followed event by event: acceptance scenarios 98 to 101, 107, and what parks and un-parks."""

from collections.abc import Iterable, Mapping

import pytest

from config.api.meta import ObjectKey, parse_time
from engine.cycles.pending_queue import QueuePlace
from engine.cycles.scheduler import CycleResult, Scheduler
from engine.objects.configuration import KueueConfiguration, RequeuingTimestamp
from engine.reporting.status_writes import released_status, with_status
from engine.vocabulary.errors import InvalidObjectError
from engine.vocabulary.features import FeatureGates
from engine.vocabulary.gate_dialect import GateDialect
from tests.support.builders import (
    NAMESPACE,
    Builder,
    Json,
    admission_check,
    at,
    cluster,
    cluster_queue,
    cohort,
    flavor,
    limit_range,
    local_queue,
    namespace,
)
from tests.unit.engine.acceptance import running
from tests.unit.engine.stories import waiting

NOW = parse_time(at(1000))
SECOND = 1_000_000_000
QUEUE = cluster_queue("A").quota("f", cpu=4).preemption(within="LowerPriority")


class Following:
    """A scheduler whose writes come back to it as events, as an API server would deliver them."""

    def __init__(
        self,
        *builders: Builder,
        configuration: KueueConfiguration | None = None,
        dialect: GateDialect = GateDialect.KUEUE,
    ) -> None:
        self.now = NOW
        self.scheduler = Scheduler.of(cluster(*builders), self.now, configuration, dialect=dialect)
        for key in sorted(self.scheduler.workloads()):
            write = self.scheduler.settle(key, self.now)
            if write is not None:
                self._update(key, write.after)

    def cycle(self) -> dict[str, str]:
        """Take a cycle; return the outcome of each head."""
        result = self.scheduler.run_cycle(self.now)
        if result is None:
            return {}
        self.deliver(result)
        return {entry.key.name: entry.outcome.value for entry in result.entries}

    def deliver(self, result: CycleResult) -> None:
        for write in result.writes:
            if write.changes_status:
                self._update(write.key, write.after)

    def stop_job(self, name: str) -> None:
        """Let an evicted workload go."""
        key = ObjectKey(NAMESPACE, name)
        raw = self.scheduler.workload(key)
        assert raw is not None
        self._update(key, released_status(raw, self.now, self.scheduler.model.configuration.gates))

    def wait(self, seconds: float = 1) -> None:
        self.now += int(seconds * SECOND)
        for write in self.scheduler.wake(self.now):
            self._update(write.key, write.after)

    def observe(self, builder: Builder) -> None:
        self.scheduler.observe(builder.raw, self.now)

    def finish(self, name: str) -> None:
        """Let a workload end."""
        status = self.status(name)
        done = {"type": "Finished", "status": "True", "reason": "Succeeded", "lastTransitionTime": at(1000)}
        self._update(ObjectKey(NAMESPACE, name), {**status, "conditions": [*status["conditions"], done]})

    def status(self, name: str) -> Json:
        raw = self.scheduler.workload(ObjectKey(NAMESPACE, name))
        assert raw is not None
        return dict(raw["status"])

    def place(self, name: str) -> QueuePlace | None:
        return self.scheduler.queues.place_of(ObjectKey(NAMESPACE, name))

    def order(self, queue: str = "A") -> list[str]:
        return [key.name for key in self.scheduler.queues[queue].in_order()]

    def _update(self, key: ObjectKey, status: Mapping[str, object]) -> None:
        raw = self.scheduler.workload(key)
        assert raw is not None
        self.scheduler.observe(with_status(raw, status), self.now)


def test_98_who_waits_for_its_victims_is_not_overtaken() -> None:
    following = Following(QUEUE, running("v", "A", 4), waiting("P", "A", 4, 10))
    assert following.cycle() == {"P": "Preempt"}
    following.observe(waiting("newcomer", "A", 1, 1000))
    assert following.order() == ["P", "newcomer"]
    assert following.cycle() == {"P": "Preempt"}
    following.stop_job("v")
    assert following.cycle() == {"P": "Admit"}
    assert following.order() == ["newcomer", "v"]


def test_98_under_strict_fifo_it_is() -> None:
    strict = QUEUE.with_spec(queueingStrategy="StrictFIFO")
    following = Following(strict, running("v", "A", 4), waiting("P", "A", 4, 10))
    assert following.cycle() == {"P": "Preempt"}
    following.observe(waiting("newcomer", "A", 1, 1000))
    assert following.order() == ["newcomer", "P"]


def test_99_a_preempted_workload_keeps_its_age() -> None:
    following = Following(
        QUEUE,
        running("v", "A", 4).created(5),
        waiting("P", "A", 4, 10),
        *(waiting(f"w{i}", "A", 4, 0, i) for i in (4, 6)),
    )
    following.cycle()
    following.stop_job("v")
    following.cycle()
    assert following.order() == ["w4", "v", "w6"]


@pytest.mark.parametrize(("timestamp", "want"), [("Eviction", ["w", "e"]), ("Creation", ["e", "w"])])
def test_100_a_workload_that_was_not_ready_in_time_queues_from_its_eviction(timestamp: str, want: list[str]) -> None:
    configuration = KueueConfiguration(requeuing_timestamp=RequeuingTimestamp(timestamp))
    evicted = waiting("e", "A", 1, created=1).evicted(9, reason="PodsReadyTimeout")
    following = Following(QUEUE, evicted, waiting("w", "A", 1, created=5), configuration=configuration)
    assert following.order() == want


@pytest.mark.parametrize(("seconds", "place"), [(0, QueuePlace.HEAP), (1, QueuePlace.PARKED)])
def test_101_a_backoff_is_over_at_its_time(seconds: int, place: QueuePlace) -> None:
    following = Following(QUEUE, waiting("P", "A", 1).backing_off(1000 + seconds / 60))
    assert following.place("P") is place


def test_101_a_backoff_ends_by_itself() -> None:
    backing_off = waiting("P", "A", 1).backing_off(1001).condition("Requeued", "False", 999, "PodsReadyTimeout")
    following = Following(QUEUE, backing_off)
    assert following.scheduler.next_wake_ns() == NOW + 60 * SECOND
    following.wait(59)
    assert following.cycle() == {}
    following.wait(1)
    assert following.cycle() == {"P": "Admit"}


def test_107_a_workload_that_ends_lets_the_tree_try_again() -> None:
    following = Following(
        cohort("pool"),
        cluster_queue("A").cohort("pool").quota("f", cpu=2),
        cluster_queue("B").cohort("pool").quota("f", cpu=2),
        running("v", "B", 3),
        waiting("P", "A", 2),
        waiting("twin", "A", 2, created=1),
        waiting("other", "B", 1),
    )
    assert following.cycle() == {"P": "PreemptNoCandidates", "other": "Skipped"}
    assert following.cycle() == {"other": "Admit"}
    assert (following.place("P"), following.place("twin")) == (QueuePlace.PARKED, QueuePlace.PARKED)
    following.wait()
    assert following.place("P") is QueuePlace.PARKED, "an admission helps no workload"
    following.finish("v")
    assert following.place("P") is QueuePlace.PARKED, "events are collected for a second"
    following.wait()
    assert (following.place("P"), following.place("twin")) == (QueuePlace.HEAP, QueuePlace.HEAP)
    assert following.cycle() == {"P": "Admit"}


CHANGES: dict[str, Iterable[Builder]] = {
    "a ClusterQueue of the tree grows": [cluster_queue("B").cohort("pool").quota("f", cpu=5)],
    "a cohort gets quota": [cohort("pool").quota("f", cpu=5)],
    "a flavor gets other nodes": [flavor("f").labels(zone="a")],
    "the workload itself asks for less": [waiting("P", "A", 1)],
    "its namespace matches": [namespace(NAMESPACE, team="x")],
}


@pytest.mark.parametrize("changes", CHANGES.values(), ids=CHANGES.keys())
def test_a_parked_workload_is_tried_again_when(changes: Iterable[Builder]) -> None:
    selective = cluster_queue("A").cohort("pool").quota("f", cpu=2)
    following = Following(
        selective, cluster_queue("B").cohort("pool").quota("f", cpu=0), namespace(NAMESPACE), waiting("P", "A", 4)
    )
    if isinstance(next(iter(changes)).raw.get("metadata", {}).get("labels"), dict):
        following.observe(selective.with_spec(namespaceSelector={"matchLabels": {"team": "x"}}))
        following.wait()
    following.cycle()
    assert following.place("P") is QueuePlace.PARKED
    for change in changes:
        following.observe(change)
    following.wait()
    assert following.place("P") is QueuePlace.HEAP


UNHELPFUL: dict[str, Builder] = {
    "a status that is not read": waiting("P", "A", 4).condition("PodsReady", "False"),
    "another annotation": waiting("P", "A", 4).annotate("a", "b"),
    "a ClusterQueue of another tree": cluster_queue("C").quota("f", cpu=9),
}


@pytest.mark.parametrize("change", UNHELPFUL.values(), ids=UNHELPFUL.keys())
def test_a_parked_workload_stays_parked_at(change: Builder) -> None:
    following = Following(cluster_queue("A").quota("f", cpu=2), waiting("P", "A", 4))
    following.cycle()
    following.observe(change)
    following.wait()
    assert following.place("P") is QueuePlace.PARKED


def test_events_may_be_collected_for_longer() -> None:
    configuration = KueueConfiguration(gates=FeatureGates(scheduler_long_requeue_interval=True))
    following = Following(QUEUE, running("v", "A", 4, 50), waiting("P", "A", 4, 10), configuration=configuration)
    following.cycle()
    following.finish("v")
    following.wait(9)
    assert following.place("P") is QueuePlace.PARKED
    following.wait(1)
    assert following.place("P") is QueuePlace.HEAP


def test_a_limit_range_that_changes_what_is_asked_for_lets_it_be_tried_again() -> None:
    following = Following(cluster_queue("A").quota("f", cpu=2), limit_range(cpu=4), waiting("P", "A", 0).request())
    assert following.cycle() == {"P": "NoFit"}
    following.observe(limit_range(cpu=1))
    assert following.cycle() == {"P": "Admit"}


def test_a_holder_that_needs_less_leaves_room() -> None:
    holder = running("v", "A", 2, 50).pods(2).holds("A")
    following = Following(QUEUE, holder, waiting("P", "A", 2))
    assert following.cycle() == {"P": "PreemptNoCandidates"}
    following.observe(holder.reclaimable(main=1))
    following.wait()
    assert following.cycle() == {"P": "Admit"}


def test_a_deactivated_workload_leaves_the_queue() -> None:
    following = Following(QUEUE, waiting("P", "A", 1))
    following.observe(waiting("P", "A", 1).with_spec(active=False))
    assert following.place("P") is None
    assert following.cycle() == {}


def test_a_workload_on_hold_leaves_the_queue() -> None:
    following = Following(QUEUE, waiting("P", "A", 1))
    following.observe(waiting("P", "A", 1).condition("QuotaReserved", "False", reason="OnHold"))
    assert following.place("P") is None


def test_a_workload_that_is_moved_to_another_queue_waits_there() -> None:
    following = Following(QUEUE, cluster_queue("B").quota("f", cpu=4), waiting("P", "A", 1))
    following.observe(waiting("P", "B", 1))
    assert (following.order("A"), following.order("B")) == ([], ["P"])


def test_a_cluster_queue_that_becomes_active_tries_its_workloads() -> None:
    following = Following(QUEUE.stopped(), waiting("P", "A", 1))
    assert following.cycle() == {}
    following.observe(QUEUE)
    assert following.cycle() == {"P": "Admit"}


def test_a_higher_class_of_a_holder_may_help_no_workload_but_is_tried() -> None:
    wpc = {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "low"}
    holder = running("v", "A", 4, 50).with_spec(priorityClassRef=wpc)
    following = Following(QUEUE, holder, waiting("P", "A", 4, 10))
    assert following.cycle() == {"P": "PreemptNoCandidates"}
    following.observe(holder.priority(0))
    following.wait()
    assert following.cycle() == {"P": "Preempt"}


def test_what_is_not_modelled_is_said_and_nothing_is_written() -> None:
    with_topology = flavor("f").with_spec(topologyName="t")
    following = Following(QUEUE, with_topology, waiting("P", "A", 1))
    result = following.scheduler.run_cycle(NOW)
    assert result is not None
    assert [entry.outcome for entry in result.entries] == ["Unsupported"]
    assert any(label.startswith("unsupported: ") for label in result.labels)
    assert result.writes == ()


def test_admission_checks_keep_a_workload_from_being_admitted_at_once() -> None:
    checked = QUEUE.with_spec(admissionChecksStrategy={"admissionChecks": [{"name": "c"}]})
    following = Following(checked, admission_check("c"), waiting("P", "A", 1))
    assert following.cycle() == {"P": "Admit"}
    told = {entry["type"]: entry["status"] for entry in following.status("P")["conditions"]}
    assert told == {"QuotaReserved": "True"}


def failed_check(**more: object) -> Json:
    return {"name": "c", "state": "Retry", "message": "", "lastTransitionTime": at(1000), **more}


def test_states_of_checks_that_are_not_asked_for_are_dropped() -> None:
    pending = waiting("P", "A", 1)
    pending.raw["status"] = {"admissionChecks": [failed_check()]}
    following = Following(QUEUE, pending)
    assert "admissionChecks" not in following.status("P")
    assert following.cycle() == {"P": "Admit"}


def test_checks_that_are_asked_for_get_a_state() -> None:
    checked = QUEUE.with_spec(admissionChecksStrategy={"admissionChecks": [{"name": "c"}]})
    following = Following(checked, admission_check("c"), waiting("P", "A", 1))
    assert [check["state"] for check in following.status("P")["admissionChecks"]] == ["Pending"]


def test_a_check_that_wants_to_be_asked_later_makes_the_workload_wait() -> None:
    checked = QUEUE.with_spec(admissionChecksStrategy={"admissionChecks": [{"name": "c"}]})
    pending = waiting("P", "A", 1)
    pending.raw["status"] = {"admissionChecks": [failed_check(requeueAfterSeconds=60)]}
    following = Following(checked, admission_check("c"), pending)
    assert following.status("P")["requeueState"] == {"requeueAt": at(1001)}
    assert following.scheduler.next_wake_ns() == NOW + 60 * SECOND


def test_checks_of_other_flavors_do_not_matter() -> None:
    rules = [{"name": "c", "onFlavors": ["g"]}]
    checked = QUEUE.quota("g", cpu=4).with_spec(admissionChecksStrategy={"admissionChecks": rules})
    following = Following(checked, admission_check("c"), waiting("P", "A", 1))
    following.cycle()
    told = {entry["type"]: entry["status"] for entry in following.status("P")["conditions"]}
    assert told == {"QuotaReserved": "True", "Admitted": "True"}


def test_a_workload_that_changes_while_its_admission_is_on_the_way_is_not_tried_again() -> None:
    following = Following(QUEUE, waiting("P", "A", 1), waiting("later", "A", 1, -1))
    result = following.scheduler.run_cycle(NOW)
    assert result is not None
    following.observe(waiting("P", "A", 1).annotate("a", "b"))
    assert following.cycle() == {"later": "Admit"}
    following.observe(waiting("P", "A", 1).annotate("a", "c"))
    assert following.cycle() == {}
    following.deliver(result)
    assert following.place("P") is None


def test_withdrawing_what_was_never_admitted_does_nothing() -> None:
    following = Following(QUEUE, waiting("P", "A", 1))
    following.scheduler.withdraw(ObjectKey(NAMESPACE, "P"), NOW)
    assert following.place("P") is QueuePlace.HEAP


def test_an_unchanged_cluster_queue_helps_no_workload() -> None:
    following = Following(cluster_queue("A").quota("f", cpu=2), waiting("P", "A", 4))
    following.cycle()
    following.observe(cluster_queue("A").quota("f", cpu=2))
    following.wait()
    assert following.place("P") is QueuePlace.PARKED


def test_a_boost_lets_a_parked_workload_be_tried_again() -> None:
    configuration = KueueConfiguration(gates=FeatureGates(priority_boost=True))
    following = Following(QUEUE, running("v", "A", 4, 5), waiting("P", "A", 4), configuration=configuration)
    assert following.cycle() == {"P": "PreemptNoCandidates"}
    following.observe(waiting("P", "A", 4).annotate("kueue.x-k8s.io/priority-boost", "10"))
    assert following.cycle() == {"P": "Preempt"}


def test_a_holder_that_is_scaled_down_leaves_room() -> None:
    holder = running("v", "A", 2, 50).pods(2).holds("A")
    following = Following(QUEUE, holder, waiting("P", "A", 2))
    following.cycle()
    following.observe(holder.pods(1))
    following.wait()
    assert following.cycle() == {"P": "Admit"}


def test_another_class_of_a_holder_is_an_event() -> None:
    def classified(name: str, priority: int) -> Builder:
        reference = {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": name}
        return running("v", "A", 4, priority).with_spec(priorityClassRef=reference)

    following = Following(QUEUE, classified("high", 50), waiting("P", "A", 4, 10))
    assert following.cycle() == {"P": "PreemptNoCandidates"}
    following.observe(classified("low", 0))
    following.wait()
    assert following.cycle() == {"P": "Preempt"}


def test_many_updates_do_not_let_the_queue_grow() -> None:
    following = Following(QUEUE, waiting("P", "A", 1))
    for number in range(500):
        following.observe(waiting("P", "A", 1).annotate("n", str(number)))
    assert following.order() == ["P"]
    assert following.cycle() == {"P": "Admit"}


def test_a_workload_that_cannot_be_read_is_refused_by_name() -> None:
    following = Following(QUEUE)
    with pytest.raises(InvalidObjectError, match=r'Workload "ns/P": spec.podSets\[0\].count: -1 is not allowed'):
        following.observe(waiting("P", "A", 1).pods(-1))
    assert list(following.scheduler.workloads()) == []


def test_what_is_written_says_which_generation_it_is_about() -> None:
    following = Following(QUEUE, waiting("P", "A", 5).with_metadata(generation=3))
    following.cycle()
    assert [entry["observedGeneration"] for entry in following.status("P")["conditions"]] == [3]


def test_kinds_that_do_not_matter_are_ignored() -> None:
    following = Following(QUEUE, waiting("P", "A", 1))
    following.observe(Builder({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}))
    following.scheduler.forget("Pod", NAMESPACE, "p", NOW)
    following.scheduler.forget("ClusterQueue", "", "other", NOW)
    assert following.cycle() == {"P": "Admit"}


def test_a_cluster_queue_that_is_gone_takes_its_queue_along() -> None:
    following = Following(QUEUE, waiting("P", "A", 1))
    following.scheduler.forget("ClusterQueue", "", "A", NOW)
    assert (following.cycle(), following.place("P")) == ({}, None)
    following.observe(QUEUE)
    assert following.cycle() == {"P": "Admit"}


def test_only_one_order_is_thought_through_when_asked() -> None:
    queues = [cluster_queue(name).cohort("pool").quota("f", cpu=cpu) for name, cpu in (("A", 0), ("B", 0), ("C", 4))]
    equal = [waiting(name, queue, 4) for name, queue in (("w1", "A"), ("w2", "B"))]
    following = Following(*queues, *equal)
    result = following.scheduler.run_cycle(NOW, max_orders=1)
    assert result is not None
    assert result.labels == ("not all ties explored",)


def test_a_newcomer_like_one_that_failed_is_parked_until_something_happens() -> None:
    following = Following(cluster_queue("A").quota("f", cpu=2), waiting("P", "A", 4))
    following.cycle()
    following.observe(waiting("twin", "A", 4))
    following.observe(waiting("other", "A", 3))
    assert (following.place("twin"), following.place("other")) == (QueuePlace.PARKED, QueuePlace.HEAP)


def test_opening_the_gate_of_a_parked_workload_lets_it_preempt() -> None:
    configuration = KueueConfiguration(gates=FeatureGates(multi_kueue_orchestrated_preemption=True))
    pending = waiting("P", "A", 4, 10).gates("g")
    following = Following(QUEUE, running("v", "A", 4), pending, configuration=configuration)
    assert following.cycle() == {"P": "Gated"}
    assert following.cycle() == {}
    following.observe(pending.gates("g", open_gates=["g"]))
    assert following.cycle() == {"P": "Preempt"}


@pytest.mark.parametrize(
    ("dialect", "signal", "field"),
    [
        (GateDialect.KUEUE, "BlockedOnPreemptionGates", "position"),
        (GateDialect.KEP, "QuotaReservationBlocked", "state"),
    ],
)
def test_both_dialects_of_the_gate(dialect: GateDialect, signal: str, field: str) -> None:
    configuration = KueueConfiguration(gates=FeatureGates(multi_kueue_orchestrated_preemption=True))
    following = Following(
        QUEUE, running("v", "A", 4), waiting("P", "A", 4, 10).gates("g"), configuration=configuration, dialect=dialect
    )
    assert following.cycle() == {"P": "Gated"}
    status = following.status("P")
    assert [gate[field] for gate in status["preemptionGates"]] == ["Closed"]
    signals = [entry for entry in status["conditions"] if entry["type"] == signal]
    assert [(entry["status"], entry["reason"]) for entry in signals] == [("True", "PreemptionGated")]


def test_an_admission_that_cannot_be_written_is_tried_again() -> None:
    following = Following(QUEUE, waiting("P", "A", 4))
    assert following.scheduler.run_cycle(NOW) is not None
    assert following.scheduler.run_cycle(NOW) is None, "it counts at once"
    following.scheduler.withdraw(ObjectKey(NAMESPACE, "P"), NOW)
    assert following.cycle() == {"P": "Admit"}


def test_a_stopped_local_queue_gives_its_workloads_back_when_it_opens() -> None:
    following = Following(QUEUE, local_queue("L", "A", stop="Hold"), waiting("P", "L", 1))
    assert following.place("P") is None
    following.observe(local_queue("L", "A"))
    assert following.place("P") is QueuePlace.HEAP
    following.observe(local_queue("L", "A", stop="Hold"))
    assert following.place("P") is None


def test_a_cluster_queue_that_comes_late_finds_its_workloads() -> None:
    following = Following(local_queue("A", "A"), flavor("f"), waiting("P", "A", 1))
    assert following.cycle() == {}
    following.observe(QUEUE)
    assert following.cycle() == {"P": "Admit"}


def test_a_workload_that_is_gone_leaves_its_room() -> None:
    following = Following(QUEUE, running("v", "A", 4, 50), waiting("P", "A", 4, 10))
    assert following.cycle() == {"P": "PreemptNoCandidates"}
    following.scheduler.forget("Workload", NAMESPACE, "v", following.now)
    following.wait()
    assert following.cycle() == {"P": "Admit"}
