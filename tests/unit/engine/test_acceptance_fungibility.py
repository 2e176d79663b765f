"""Acceptance scenarios 41 to 52: which flavor is chosen, and where the next scan begins."""

import pytest

from config.api.meta import ObjectKey, parse_time
from engine.cluster.model import ClusterModel
from engine.cluster.queueing import NominatedWorkload, enter
from engine.objects.workloads import PendingWorkload
from engine.search.nomination import NominationSearch
from engine.vocabulary.assignment import LAST_FLAVOR_TRIED
from tests.support.builders import NAMESPACE, ClusterQueueBuilder, WorkloadBuilder, at, cluster, cluster_queue, workload
from tests.unit.engine.acceptance import ADMIT, PENDING, PREEMPT, Case, pending

TRY_NEXT = {"borrow": "TryNextFlavor", "preempt": "TryNextFlavor"}
MAY_STOP = {"borrow": "MayStopSearch", "preempt": "MayStopSearch"}
ON_F, ON_G = {"main": {"cpu": "f"}}, {"main": {"cpu": "g"}}


def holder(name: str, flavor: str, queue: str = "A", priority: int = 0) -> WorkloadBuilder:
    return workload(name).request(cpu=4).priority(priority).holds(queue, flavor)


def two_flavors(f: int = 4, g: int = 4) -> ClusterQueueBuilder:
    return cluster_queue("A").quota("f", cpu=f).quota("g", cpu=g).preemption(within="LowerPriority")


BORROWER = two_flavors(f=2).cohort("pool")
LENDER = cluster_queue("B").cohort("pool").quota("f", cpu=4)
BORROW_OR_PREEMPT = (LENDER, holder("v", "g"), pending(4, priority=10))

CASES = {
    "41 borrowing stops the search by default": Case(
        [BORROWER, *BORROW_OR_PREEMPT], ADMIT, want_flavors=ON_F, want_borrowing=1
    ),
    "42 borrowing is preferred to preemption by default": Case(
        [BORROWER.fungibility(**TRY_NEXT), *BORROW_OR_PREEMPT], ADMIT, want_flavors=ON_F, want_borrowing=1
    ),
    "43 preemption over borrowing": Case(
        [BORROWER.fungibility(**TRY_NEXT, prefer="PreemptionOverBorrowing"), *BORROW_OR_PREEMPT],
        PREEMPT,
        {"v": "InClusterQueue"},
        want_flavors=ON_G,
        want_borrowing=0,
    ),
    "44 borrowing over preemption": Case(
        [BORROWER.fungibility(**TRY_NEXT, prefer="BorrowingOverPreemption"), *BORROW_OR_PREEMPT],
        ADMIT,
        want_flavors=ON_F,
    ),
    "45 a free flavor is preferred to preemption": Case(
        [two_flavors(), holder("v", "f"), pending(4, priority=10)], ADMIT, want_flavors=ON_G
    ),
    "46 unless preemption stops the search": Case(
        [two_flavors().fungibility(preempt="MayStopSearch"), holder("v", "f"), pending(4, priority=10)],
        PREEMPT,
        {"v": "InClusterQueue"},
        want_flavors=ON_F,
    ),
    "47 reclaiming is preferred to preempting in the own ClusterQueue": Case(
        [
            two_flavors().cohort("pool").preemption(within="LowerPriority", reclaim="Any"),
            cluster_queue("B").cohort("pool").quota("f", cpu=0).quota("g", cpu=0),
            holder("v", "f"),
            holder("x", "g", queue="B"),
            pending(4, priority=10),
        ],
        PREEMPT,
        {"x": "InCohortReclamation"},
        want_flavors=ON_G,
    ),
    "48 a flavor without candidates does not stop the search": Case(
        [
            two_flavors().fungibility(**MAY_STOP),
            holder("v", "f", priority=20),
            holder("x", "g"),
            pending(4, priority=10),
        ],
        PREEMPT,
        {"x": "InClusterQueue"},
        want_flavors=ON_G,
    ),
    "49 equal flavors: the first one, and the reasons of both": Case(
        [two_flavors(), holder("v", "f"), holder("x", "g"), pending(4, priority=10)],
        PREEMPT,
        {"v": "InClusterQueue"},
        want_flavors=ON_F,
        want_message="couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor f, 4 more "
        "needed, insufficient unused quota for cpu in flavor g, 4 more needed. Pending the preemption of 1 workload(s)",
    ),
    "51 without fungibility only the mode counts": Case(
        [
            cluster_queue("A").cohort("pool").quota("f", cpu=4).quota("g", cpu=0).preemption(within="LowerPriority"),
            cluster_queue("B").cohort("pool").quota("g", cpu=4),
            holder("v", "f"),
            pending(4, priority=10),
        ],
        ADMIT,
        want_flavors=ON_G,
        gates={"FlavorFungibility": False},
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_choice_of_flavor(case: Case) -> None:
    case.check()


def entry_of(*builders: ClusterQueueBuilder | WorkloadBuilder) -> tuple[ClusterModel, NominatedWorkload]:
    model = ClusterModel.of(cluster(*builders))
    waiting = model.workload(ObjectKey(NAMESPACE, PENDING))
    assert isinstance(waiting, PendingWorkload)
    entry = enter(model, waiting, parse_time(at(0)))
    assert isinstance(entry, NominatedWorkload)
    return model, entry


def test_50_scan_goes_on_behind_the_flavor_that_was_tried() -> None:
    """The first scan stops at f of two flavors; the next one starts at g although f is still free."""
    model, entry = entry_of(two_flavors(), pending(4))
    first, _ = NominationSearch(model, entry.workload, entry.queue, entry.spec, entry.demands, 0).run()
    assert first.pod_sets[0].flavors["cpu"].flavor == "f"
    assert first.scan_memory == ({"cpu": 0},)

    nomination = NominationSearch(
        model, entry.workload, entry.queue, entry.spec, entry.demands, 0, memory=first.scan_memory
    )
    second, _ = nomination.run()
    assert second.pod_sets[0].flavors["cpu"].flavor == "g"
    assert second.scan_memory == ({"cpu": LAST_FLAVOR_TRIED},)


def test_52_without_memory_the_scan_starts_at_the_first_flavor() -> None:
    """What makes the memory outdated is decided by the queues; without it the scan starts over."""
    model, entry = entry_of(two_flavors(), pending(4))
    again, _ = NominationSearch(
        model, entry.workload, entry.queue, entry.spec, entry.demands, 0, memory=({"cpu": LAST_FLAVOR_TRIED},)
    ).run()
    assert again.pod_sets[0].flavors["cpu"].flavor == "f"


def test_a_pod_set_that_does_not_fit_records_nothing() -> None:
    model, entry = entry_of(two_flavors(), pending(5))
    assignment, _ = NominationSearch(model, entry.workload, entry.queue, entry.spec, entry.demands, 0).run()
    assert assignment.scan_memory == ({},)
