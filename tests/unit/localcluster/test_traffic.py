"""A cluster counts who asked for what."""

from localcluster.serving.traffic import RequestClass, Traffic


def test_requests_are_told_apart_by_agent_verb_and_resource() -> None:
    traffic = Traffic()
    traffic.note("turnstile", "patch", "workloads", "status")
    traffic.note("turnstile", "patch", "workloads", "status")
    traffic.note("kubectl/v1.33.1 (linux/amd64) kubernetes/abc", "get", "pods")
    assert traffic.counts() == {
        RequestClass("turnstile", "patch", "workloads", "status"): 2,
        RequestClass("kubectl", "get", "pods"): 1,
    }


def test_counts_that_were_taken_stay_as_they_are() -> None:
    traffic = Traffic()
    before = traffic.counts()
    traffic.note("turnstile", "list", "jobs")
    assert not before
    assert (traffic.counts() - before).total() == 1
