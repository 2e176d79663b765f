"""Quota arithmetic: limits, unlimited amounts, and changes that are taken back."""

import pytest

from config.api.quantity import UNLIMITED
from engine.cluster.model import ClusterModel
from engine.quota.quota_tree import QuotaCell, UsageChanges, lowest_fit
from engine.vocabulary.flavor_resource import FlavorResource
from tests.support.builders import Builder, cluster, cluster_queue, cohort, workload


def model_of(*builders: Builder) -> ClusterModel:
    return ClusterModel.of(cluster(*builders))


def cell_of(model: ClusterModel, queue: str, resource: str = "cpu", flavor: str = "f") -> QuotaCell:
    found = model.cluster_queue(queue)
    assert found is not None
    return found.cell(model.table.get(flavor, resource))


def test_one_instance_of_each_flavor_and_resource() -> None:
    table = ClusterModel().table
    assert table.get("f", "cpu") is table.get("f", "cpu")
    assert isinstance(table.get("f", "cpu"), FlavorResource)
    assert repr(table.get("f", "cpu")) == "f:cpu"


LIMITED = (
    cluster_queue("A").cohort("pool").quota("f", cpu=4).lending_limit("f", cpu=1).borrowing_limit("f", cpu=2),
    cluster_queue("B").cohort("pool").quota("f", cpu=10),
)


@pytest.mark.parametrize(
    ("used_in_a", "used_in_b", "want_available"),
    [
        (0, 0, 6000),
        (2, 0, 4000),
        (5, 0, 1000),
        (6, 0, 0),
        (0, 10, 4000),
        (0, 11, 3000),
        (0, 12, 2000),
    ],
    ids=["empty", "in own part", "borrowing", "at the limit", "B full", "B borrows all A lends", "B over-admitted"],
)
def test_available_heeds_both_limits(used_in_a: int, used_in_b: int, want_available: int) -> None:
    model = model_of(
        *LIMITED,
        workload("a").request(cpu=used_in_a).holds("A"),
        workload("b").request(cpu=used_in_b).holds("B"),
    )
    cell = cell_of(model, "A")
    assert cell.available() == want_available
    assert cell.potential == 6000


def test_what_a_queue_keeps_reaches_the_cohort_only_when_exceeded() -> None:
    model = model_of(*LIMITED, workload("a").request(cpu=2).holds("A"))
    cell = cell_of(model, "A")
    assert cell.parent is not None
    assert cell.parent.usage == 0
    changes = UsageChanges()
    changes.add(cell, 2000)
    assert (cell.usage, cell.parent.usage) == (4000, 1000)
    changes.remove(cell, 3000)
    assert (cell.usage, cell.parent.usage) == (1000, 0)
    changes.undo()
    assert (cell.usage, cell.parent.usage) == (2000, 0)


def test_negative_usage_never_reaches_the_parent() -> None:
    """A cycle can reserve a negative amount; it lowers the ClusterQueue's usage alone."""
    cell = cell_of(model_of(*LIMITED), "B")
    assert cell.parent is not None
    changes = UsageChanges()
    changes.add(cell, -2000)
    assert (cell.usage, cell.parent.usage) == (-2000, 0)
    assert cell.available() == 13000
    changes.add(cell, 3000)
    assert (cell.usage, cell.parent.usage) == (1000, 1000)
    changes.undo()


def test_unlimited_quota_stays_unlimited_whatever_is_used() -> None:
    model = model_of(
        cluster_queue("A").cohort("pool").quota("f", cpu="10E"),
        cluster_queue("B").cohort("pool").quota("f", cpu=1),
        workload("a").request(cpu="1P").holds("A"),
    )
    cell = cell_of(model, "B")
    assert cell.potential == UNLIMITED
    assert cell.available() == UNLIMITED
    changes = UsageChanges()
    changes.add(cell, UNLIMITED)
    assert cell.usage == UNLIMITED
    assert cell.available() == 0
    changes.remove(cell, 5)
    assert cell.usage == UNLIMITED
    changes.undo()
    assert cell.usage == 0


def test_an_unlimited_lending_limit_keeps_nothing() -> None:
    model = model_of(
        cluster_queue("A").cohort("pool").quota("f", cpu=4).lending_limit("f", cpu="10E"),
        cluster_queue("B").cohort("pool").quota("f", cpu=0).borrowing_limit("f", cpu="10E"),
    )
    assert cell_of(model, "B").available() == 4000


HEIGHTS = (
    cohort("l").parent("top"),
    cohort("deep").parent("l"),
    cluster_queue("A").cohort("deep").quota("f", cpu=1),
    cluster_queue("A2").cohort("deep").quota("f", cpu=1),
    cluster_queue("B").cohort("l").quota("f", cpu=1),
    cluster_queue("C").cohort("top").quota("f", cpu=1),
)


@pytest.mark.parametrize(
    ("amount", "want"),
    [(1000, (0, True)), (2000, (1, True)), (3000, (2, True)), (4000, (3, False)), (5000, (3, False))],
    ids=["own", "own cohort", "next", "top", "nowhere"],
)
def test_the_smallest_subtree_with_room(amount: int, want: tuple[int, bool]) -> None:
    assert lowest_fit(cell_of(model_of(*HEIGHTS), "A"), amount) == want


def test_heights_count_active_queues_only() -> None:
    stopped = [cohort("top").quota("f", cpu=9), cluster_queue("A").cohort("top").quota("f", cpu=0).stopped()]
    (top,) = model_of(*stopped).cohorts()
    assert top.height == 0
    assert [queue.name for queue in top.child_queues] == ["A"]
    assert top.active_queues == []


def test_usage_of_a_flavor_without_quota_counts_in_the_cohort() -> None:
    model = model_of(
        cluster_queue("A").cohort("pool").quota("g", cpu=1),
        cluster_queue("B").cohort("pool").quota("f", cpu=4),
        workload("a").request(cpu=3).holds("A", "f"),
    )
    assert cell_of(model, "B").available() == 1000
