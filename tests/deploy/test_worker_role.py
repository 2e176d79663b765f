"""The shipped role of a worker: no verb more than the daemon needs, and each that is taken away is missed by name."""

import secrets
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from config.sections.sections import JobsSection
from localcluster.access.auth import Allow, TokenUser
from localcluster.cluster import LocalCluster
from manager.base.kinds import job_kinds
from manager.clusters.permissions import complaint, needs_of_identity, needs_on_worker
from manager.models.model_watches import FOLLOWED_KINDS
from manager.models.pod_observation import FOLLOWED_KINDS as FOLLOWED_FOR_PODS
from manager.models.topology_watches import FOLLOWED_KINDS as FOLLOWED_FOR_TOPOLOGY
from tests.support.clusters import access_to, no_jitter
from tests.support.virtual_time import VirtualClock
from workerclient.base.kind import ApiKind
from workerclient.cluster import ClientContext, ClusterClient

ROLE = Path(__file__).resolve().parents[2] / "deploy" / "rbac" / "worker.yaml"
NEEDS = (*needs_of_identity(), *needs_on_worker(job_kinds(JobsSection())))
Grant = tuple[str, str, str]
"""Group, resource, verb."""


def granted() -> list[Grant]:
    (role,) = (each for each in yaml.safe_load_all(ROLE.read_text()) if each["kind"] == "ClusterRole")
    return [
        (group, resource, verb)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    ]


def without(missing: Grant) -> TokenUser:
    """Return a user who has the role but for one verb on one resource."""
    rules = tuple(
        Allow((verb,), (resource,), (group,))
        for group, resource, verb in granted()
        if (group, resource, verb) != missing
    )
    return TokenUser("-".join(missing), secrets.token_urlsafe(24), rules=rules)


def test_it_grants_what_is_needed_and_nothing_else() -> None:
    needed = [(need.kind.group, need.rule_resource, verb) for need in NEEDS for verb in need.verbs]
    assert sorted(granted()) == sorted(needed)


async def test_each_verb_that_is_taken_away_is_missed_by_name(tmp_path: Path) -> None:
    users = {grant: without(grant) for grant in granted()}
    async with LocalCluster("w1", tmp_path, users=list(users.values())) as cluster:
        for (group, resource, verb), user in users.items():
            access = replace(access_to(cluster), token=user.token, client_certificate=None)
            client = ClusterClient("w1", access, ClientContext(VirtualClock(), no_jitter))
            try:
                said = complaint("w1", await client.missing_permissions(NEEDS))
            finally:
                await client.close()
            plural, _, subresource = resource.partition("/")
            named = f"{plural}.{group}/{subresource}" if subresource else f"{plural}.{group}" if group else plural
            named += " kube-system" if resource == "namespaces" else ""
            assert said.startswith(f"worker w1 does not allow in all namespaces: {verb} on {named} (")


@pytest.mark.parametrize(
    ("file", "kinds"),
    [
        ("worker-forecasts.yaml", FOLLOWED_KINDS),
        ("worker-pod-forecasts.yaml", FOLLOWED_FOR_PODS),
        ("worker-topology.yaml", FOLLOWED_FOR_TOPOLOGY),
    ],
    ids=["queues", "pods", "topologies"],
)
def test_the_role_for_forecasts_reads_exactly_what_they_are_made_of(file: str, kinds: tuple[ApiKind, ...]) -> None:
    path = Path(__file__).resolve().parents[2] / "deploy" / "rbac" / file
    role = next(each for each in yaml.safe_load_all(path.read_text()) if each["kind"] == "ClusterRole")
    granted = {
        (group, resource) for rule in role["rules"] for group in rule["apiGroups"] for resource in rule["resources"]
    }
    assert granted == {(kind.group, kind.plural) for kind in kinds}
    assert {verb for rule in role["rules"] for verb in rule["verbs"]} == {"get", "list", "watch"}
