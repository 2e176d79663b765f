"""The shipped role of the hub: no verb more than the daemon needs, and each that is taken away is missed by name."""

import secrets
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml
from structlog.testing import capture_logs

from config.sections import Jobs
from localcluster.auth import Allow, User
from localcluster.cluster import LocalCluster
from manager.guards import HubReviews, Verdict
from manager.kinds import job_kinds
from manager.permissions import complaint_about_hub, needs_of_plans, needs_on_hub
from tests.clusters import access_to, no_jitter
from tests.virtual_time import VirtualClock
from workerclient.cluster import ClusterClient, Surroundings

ROLES = Path(__file__).resolve().parents[2] / "deploy" / "rbac"
NEEDS = (*needs_on_hub(job_kinds(Jobs()), "turnstile-system"), *needs_of_plans())


class Grant(NamedTuple):
    """One verb on one resource: everywhere, in a namespace, on one object."""

    group: str
    resource: str
    verb: str
    namespace: str = ""
    name: str = ""


def granted(file: str) -> list[Grant]:
    roles = [each for each in yaml.safe_load_all((ROLES / file).read_text()) if each["kind"] in ("ClusterRole", "Role")]
    return [
        Grant(group, resource, verb, role["metadata"].get("namespace", ""), name)
        for role in roles
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        for name in rule.get("resourceNames", [""])
    ]


def without(file: str, missing: Grant) -> User:
    """Return somebody who has the roles of a file but for one verb on one resource."""
    rules = tuple(
        Allow(
            (each.verb,),
            (each.resource,),
            (each.group,),
            namespaces=(each.namespace,) if each.namespace else (),
            names=(each.name,) if each.name else (),
        )
        for each in granted(file)
        if each != missing
    )
    return User("-".join(filter(None, missing)), secrets.token_urlsafe(24), rules=rules)


def test_it_grants_what_is_needed_and_nothing_else() -> None:
    needed = [
        Grant(need.kind.group, need.rule_resource, verb, need.namespace, need.name)
        for need in NEEDS
        for verb in need.verbs
    ]
    assert sorted(granted("hub.yaml")) == sorted(needed)


def test_no_role_is_a_wildcard() -> None:
    for file in ROLES.rglob("*.yaml"):
        for document in yaml.safe_load_all(file.read_text()):
            for rule in document.get("rules") or ():
                listed = [*rule["verbs"], *rule.get("apiGroups", []), *rule.get("resources", [])]
                assert "*" not in listed, file
                assert not {"escalate", "bind", "impersonate"} & set(rule["verbs"]), file


async def test_each_verb_that_is_taken_away_is_missed_by_name(tmp_path: Path) -> None:
    users = {grant: without("hub.yaml", grant) for grant in granted("hub.yaml")}
    async with LocalCluster("hub", tmp_path, users=list(users.values())) as cluster:
        for grant, user in users.items():
            access = replace(access_to(cluster), token=user.token, client_certificate=None)
            client = ClusterClient("hub", access, Surroundings(VirtualClock(), no_jitter))
            try:
                said = complaint_about_hub(await client.missing_permissions(NEEDS))
            finally:
                await client.close()
            plural, _, subresource = grant.resource.partition("/")
            named = f"{plural}.{grant.group}" if grant.group else plural
            named = f"{named}/{subresource}" if subresource else named
            assert said.startswith(f"the hub does not allow: {grant.verb} on {named}"), said
            assert grant.name in said


@pytest.mark.parametrize("missing", granted("endpoints/endpoint-authorization.yaml"), ids=lambda grant: grant.resource)
async def test_without_a_verb_for_the_endpoints_nobody_is_let_in_and_the_log_names_it(
    tmp_path: Path, missing: Grant
) -> None:
    reader = User("reader", "the-token-of-a-reader", rules=(Allow(("get",), paths=("/metrics",)),))
    us = without("endpoints/endpoint-authorization.yaml", missing)
    async with LocalCluster("hub", tmp_path, users=[us, reader]) as hub:
        access = replace(access_to(hub), token=us.token, client_certificate=None)
        guard = HubReviews(access, Surroundings(VirtualClock(), no_jitter), ())
        try:
            with capture_logs() as lines:
                assert await guard.judge(reader.token, "/metrics") is Verdict.UNSURE
        finally:
            await guard.close()
    (line,) = lines
    assert f'cannot create resource "{missing.resource}"' in line["error"]
    assert reader.token not in str(line)
