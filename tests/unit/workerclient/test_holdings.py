"""How much of one cluster is held, over all kinds."""

import pytest

from config.api.meta import ObjectKey
from workerclient.base.errors import Operation, Overfull
from workerclient.base.holdings import HoldingLimits, Holdings

LIST = Operation("w1", "list", "jobs")


def key(number: int) -> ObjectKey:
    return ObjectKey("default", f"n{number}")


def test_F12_kinds_share_one_limit_of_objects() -> None:
    holdings = Holdings(lambda: HoldingLimits(3, 1000))
    jobs, workloads = holdings.share(), holdings.share()
    jobs.put(LIST, key(1), 10)
    jobs.put(LIST, key(2), 10)
    workloads.put(LIST, key(1), 10)
    workloads.put(LIST, key(1), 900)  # the same object again
    with pytest.raises(Overfull, match="the cluster has more than 3 objects, which is the limit"):
        workloads.put(LIST, key(2), 1)
    jobs.remove(key(1))
    workloads.put(LIST, key(2), 1)


def test_F12_kinds_share_one_limit_of_bytes() -> None:
    holdings = Holdings(lambda: HoldingLimits(100, 1000))
    jobs, workloads = holdings.share(), holdings.share()
    jobs.put(LIST, key(1), 600)
    with pytest.raises(Overfull, match="objects have more than 1000 bytes in total, which is the limit"):
        workloads.put(LIST, key(1), 401)
    workloads.put(LIST, key(1), 400)
    jobs.remove(key(1))
    jobs.remove(key(1))
    workloads.put(LIST, key(1), 1000)


def test_F12_a_list_counts_in_place_of_what_is_held_and_only_once_it_is_complete() -> None:
    holdings = Holdings(lambda: HoldingLimits(2, 1000))
    jobs = holdings.share()
    jobs.put(LIST, key(1), 1)
    jobs.put(LIST, key(2), 1)
    listed = jobs.begin_list()
    listed.put(LIST, key(3), 5)
    listed.put(LIST, key(4), 5)
    with pytest.raises(Overfull):
        listed.put(LIST, key(5), 5)
    assert set(jobs.sizes) == {key(1), key(2)}
    jobs.finish_list(listed)
    assert (set(jobs.sizes), jobs.bytes) == ({key(3), key(4)}, 10)


def test_F12_limits_grow_with_what_the_hub_has() -> None:
    limit = 1
    holdings = Holdings(lambda: HoldingLimits(limit, 1000))
    jobs = holdings.share()
    jobs.put(LIST, key(1), 1)
    with pytest.raises(Overfull):
        jobs.put(LIST, key(2), 1)
    limit = 2
    jobs.put(LIST, key(2), 1)
    assert set(jobs.sizes) == {key(1), key(2)}


def test_F12_without_limits_nothing_is_too_much() -> None:
    jobs = Holdings(lambda: None).share()
    for number in range(1000):
        jobs.put(LIST, key(number), 1 << 30)
    assert (len(jobs.sizes), jobs.bytes) == (1000, 1000 << 30)
