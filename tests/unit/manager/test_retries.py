"""When failed work is due again, by the kind of failure; and that each retry is counted and logged."""

from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree

import pytest
from structlog.testing import capture_logs

from config.api.meta import ObjectKey
from manager.base.retrying import RetriedOperation
from manager.journal.writer import Journal
from manager.metrics.catalogue import RETRIES
from manager.metrics.retries import RetryMetrics
from manager.queueing.action_slots import ActionEffect, ActionSlots
from manager.queueing.backoff import KeyedFailures
from tests.support.virtual_time import VirtualClock, let_run
from tests.support.worker_names import W1
from tests.unit.manager.journals import LIMITS, look, written
from workerclient.base.backoff import Retry
from workerclient.base.errors import (
    AlreadyExists,
    Conflict,
    Forbidden,
    NotFound,
    Operation,
    Throttled,
    Unavailable,
)

OPERATION = Operation("w1", "patch", "workloads")
KEY = ObjectKey("ns", "wl")


def certain() -> float:
    return 1.0


def never() -> float:
    return 0.0


@dataclass(frozen=True)
class Case:
    error: Exception | None
    want_longest: tuple[float, ...]
    want_cap: float


CASES = {
    "a conflict": Case(Conflict(OPERATION, ""), (0.05, 0.1, 0.2), 5.0),
    "an object that is there already": Case(AlreadyExists(OPERATION, ""), (0.05, 0.1, 0.2), 5.0),
    "an object that is gone": Case(NotFound(OPERATION, "", kind="workloads"), (0.05, 0.1, 0.2), 5.0),
    "nothing to do yet": Case(None, (0.05, 0.1, 0.2), 5.0),
    "a cluster in trouble": Case(Unavailable(OPERATION, ""), (0.5, 1.0, 2.0), 60.0),
    "a cluster that asks for time": Case(Throttled(OPERATION, "", retry_after=3), (3.0, 3.0, 3.0), 60.0),
    "a cluster that asks for too much": Case(Throttled(OPERATION, "", retry_after=9999), (60.0, 60.0, 60.0), 60.0),
    "a namespace that is gone": Case(NotFound(OPERATION, "", kind="namespaces"), (5.0, 10.0, 20.0), 300.0),
    "a refusal": Case(Forbidden(OPERATION, "", remedy=""), (5.0, 10.0, 20.0), 300.0),
    "a bug": Case(ZeroDivisionError(), (5.0, 10.0, 20.0), 300.0),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_kind_of_failure_decides_how_long_to_wait(case: Case) -> None:
    longest = KeyedFailures[ObjectKey](RetriedOperation.WORKLOAD, certain)
    assert tuple(longest.next_wait(KEY, case.error) for _ in case.want_longest) == case.want_longest
    assert [longest.next_wait(KEY, case.error) for _ in range(20)][-1] == case.want_cap
    shortest = KeyedFailures[ObjectKey](RetriedOperation.WORKLOAD, never)
    if not isinstance(case.error, Throttled):
        found = tuple(shortest.next_wait(KEY, case.error) for _ in case.want_longest)
        assert found == tuple(wait / 2 for wait in case.want_longest)


def test_each_object_has_failures_of_its_own() -> None:
    failures = KeyedFailures[ObjectKey](RetriedOperation.WORKLOAD, certain)
    error = Unavailable(OPERATION, "")
    assert [failures.next_wait(KEY, error) for _ in range(3)] == [0.5, 1.0, 2.0]
    assert failures.next_wait(ObjectKey("ns", "other"), error) == 0.5
    assert (failures.count(KEY), failures.count(ObjectKey("ns", "none"))) == (3, 0)
    failures.forget(KEY)
    assert failures.next_wait(KEY, error) == 0.5


def test_a_retry_is_counted_and_logged() -> None:
    metrics = RetryMetrics()
    assert metrics.registry.get_sample_value(RETRIES.name, {"operation": "request"}) == 0.0
    with capture_logs() as logs:
        metrics.note(Retry("request", "w1", 2, 0.51234, Unavailable(OPERATION, "refused")))
        metrics.note(Retry("watch", "w1", 1, 0.25, None))
    assert metrics.registry.get_sample_value(RETRIES.name, {"operation": "request"}) == 1.0
    assert metrics.registry.get_sample_value(RETRIES.name, {"operation": "watch"}) == 1.0
    assert logs[0] == {
        "event": "operation.retried",
        "log_level": "debug",
        "operation": "request",
        "subject": "w1",
        "failures": 2,
        "retry_seconds": 0.512,
        "error": "cluster w1: patch workloads: refused",
    }
    assert logs[1]["error"] == ""


def test_every_operation_is_described_and_shown_from_zero() -> None:
    registry = RetryMetrics().registry
    for operation in RetriedOperation:
        assert registry.get_sample_value(RETRIES.name, {"operation": operation}) == 0.0
        assert f"{operation}" in RETRIES.meaning


async def test_a_slot_rests_longer_after_each_failure_and_tells_it() -> None:
    clock, told, rests = VirtualClock(), list[Retry](), list[float]()

    async def refused() -> ActionEffect:
        raise Unavailable(OPERATION, "refused")

    async def done() -> ActionEffect:
        return ActionEffect.DONE

    async with ActionSlots(clock, certain, lambda _, rest: rests.append(rest), lambda *_: None, told.append) as slots:
        for _ in range(3):
            slots.start(KEY, W1, refused)
            await let_run()
            await clock.advance(slots.rest_left(KEY, W1))
        slots.start(KEY, W1, done)
        await let_run()
        slots.start(KEY, W1, refused)
        await let_run()
    assert [rest for rest in rests if rest] == [0.5, 1.0, 2.0, 0.5]
    assert [(retry.operation, retry.subject, retry.failures) for retry in told] == [
        ("action", "ns/wl on w1", 1),
        ("action", "ns/wl on w1", 2),
        ("action", "ns/wl on w1", 3),
        ("action", "ns/wl on w1", 1),
    ]


def test_the_journal_waits_longer_for_its_file_each_time(tmp_path: Path) -> None:
    now, told = [0.0], list[Retry]()
    path = tmp_path / "missing" / "journal.db"
    journal = Journal(path, LIMITS, lambda: 0, lambda: now[0], certain, told.append)
    journal.start()

    def write(name: str) -> None:
        journal.note_reconciliation(look(name))
        written(journal)

    for number in range(6):
        write(f"try-{number}")
        write(f"dropped-{number}")
        now[0] += told[-1].seconds
    assert [retry.seconds for retry in told] == [5.0, 10.0, 20.0, 40.0, 60.0, 60.0]
    path.parent.mkdir()
    write("kept")
    rmtree(path.parent)
    write("lost")
    assert told[-1].seconds == 5.0, "a success makes the next failure a first one"
    journal.close()
    assert {(retry.operation, retry.subject) for retry in told} == {("journal", str(path))}
