"""How much of their quota ClusterQueues use, each and together."""

from config.api.quantity import UNLIMITED
from engine.cluster.model import ClusterModel
from engine.cluster.usage import QuotaUse, UsageSums, queue_usage
from tests.support.builders import cluster, cluster_queue, cohort, workload


def model() -> ClusterModel:
    return ClusterModel.of(
        cluster(
            cluster_queue("a").quota("spot", cpu=4).quota("on-demand", cpu=2),
            cluster_queue("b").quota("spot", cpu=8),
            workload("one").queue("a").request(cpu=3).holds("a", flavor="spot"),
            workload("two").queue("b").request(cpu=1).holds("b", flavor="spot"),
        )
    )


def test_a_clusterqueue_lists_each_flavor() -> None:
    queue = model().cluster_queue("a")
    assert queue is not None
    assert list(queue_usage(queue)) == [QuotaUse("on-demand", "cpu", 2000, 0), QuotaUse("spot", "cpu", 4000, 3000)]


def test_sums_go_over_all_flavors_and_clusterqueues() -> None:
    sums = UsageSums()
    for queue in model().forest.queues():
        sums.add_quota(queue)
        sums.add_usage(queue)
    assert sums.totals() == [QuotaUse("", "cpu", 14000, 4000)]


def test_sums_include_what_a_cohort_grants_itself() -> None:
    known = ClusterModel.of(
        cluster(cluster_queue("a").cohort("lab").quota("f", cpu=4), cohort("lab").quota("f", cpu=2))
    )
    sums = UsageSums()
    for node in (*known.forest.queues(), *known.cohorts()):
        sums.add_quota(node)
    assert sums.totals() == [QuotaUse("", "cpu", 6000, 0)]


def test_a_share_of_nothing_or_of_everything_is_not_a_number() -> None:
    assert QuotaUse("f", "cpu", 4000, 1000).share == 0.25
    assert QuotaUse("f", "cpu", 0, 1000).share is None
    assert QuotaUse("f", "cpu", UNLIMITED, 1000).share is None
