"""The doctor says when a name does not stand for a cluster of its own."""

from pathlib import Path

from gates.diagnosis.finding import Severity, Topic
from gates.diagnosis.identity import IS_HUB, is_same_cluster
from tests.integration.doctor.wards import allowing, findings, grants_of, ward


async def test_F4_two_names_for_one_cluster_are_found(tmp_path: Path) -> None:
    async with ward(tmp_path, "w1", "w2") as made:
        made.put_secret("w2", made["w1"].kubeconfig())
        found = [each for each in await findings(made) if each.topic is Topic.IDENTITY]
        assert [(each.cluster, each.severity) for each in found] == [("w1", Severity.ERROR), ("w2", Severity.ERROR)]
        assert found[0].message == f"it {is_same_cluster('w2')}"


async def test_F4_the_hub_as_its_own_worker_is_found(tmp_path: Path) -> None:
    async with ward(tmp_path, "w1") as made:
        made.put_secret("w1", made.hub.kubeconfig())
        (found,) = [each for each in await findings(made) if each.topic is Topic.IDENTITY]
        assert (found.cluster, found.message) == ("w1", f"it {IS_HUB}")


async def test_F4_a_role_that_does_not_show_the_cluster_is_a_warning(tmp_path: Path) -> None:
    grants = [
        each
        for each in grants_of("worker.yaml", "worker-forecasts.yaml", "worker-kueue.yaml")
        if each != ("", "namespaces", "get")
    ]
    async with ward(tmp_path, "w1", limited={"w1": allowing(grants)}) as made:
        found = [each for each in await findings(made) if each.topic is Topic.IDENTITY]
        assert [(each.cluster, each.severity) for each in found] == [("w1", Severity.WARNING)]
        assert "deploy/rbac/worker.yaml" in found[0].remedy
