"""The shipped role of the hub: no verb more than the daemon needs, and each that is taken away is missed by name."""

import secrets
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from structlog.testing import capture_logs

from localcluster.access.auth import Allow, TokenUser
from localcluster.cluster import LocalCluster
from manager.clusters.permissions import complaint_about_hub
from manager.serving.authorization import AuthorizationResult, HubAuthorizer
from tests.deploy.hub_role import NEEDS, ROLES, Grant, granted
from tests.support.clusters import access_to, no_jitter
from tests.support.virtual_time import VirtualClock
from workerclient.cluster import ClientContext, ClusterClient


def without(file: str, missing: Grant) -> TokenUser:
    """Return a user who has the roles of a file but for one verb on one resource."""
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
    return TokenUser("-".join(filter(None, missing)), secrets.token_urlsafe(24), rules=rules)


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
            client = ClusterClient("hub", access, ClientContext(VirtualClock(), no_jitter))
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
async def test_without_a_verb_for_the_endpoints_no_reader_is_let_in_and_the_log_names_it(
    tmp_path: Path, missing: Grant
) -> None:
    reader = TokenUser("reader", "the-token-of-a-reader", rules=(Allow(("get",), paths=("/metrics",)),))
    us = without("endpoints/endpoint-authorization.yaml", missing)
    async with LocalCluster("hub", tmp_path, users=[us, reader]) as hub:
        access = replace(access_to(hub), token=us.token, client_certificate=None)
        authorizer = HubAuthorizer(access, ClientContext(VirtualClock(), no_jitter), ())
        try:
            with capture_logs() as lines:
                assert await authorizer.authorize(reader.token, "/metrics") is AuthorizationResult.UNSURE
        finally:
            await authorizer.close()
    (line,) = lines
    assert f'cannot create resource "{missing.resource}"' in line["error"]
    assert reader.token not in str(line)
