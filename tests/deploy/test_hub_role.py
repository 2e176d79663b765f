"""The shipped role of the hub: no verb more than is needed, and none less."""

from pathlib import Path

import yaml

from config.sections import Jobs
from manager.kinds import job_kinds
from manager.permissions import needs_of_plans, needs_on_hub
from workerclient.preflight import Need

ROLE = Path(__file__).resolve().parents[2] / "deploy" / "rbac" / "hub.yaml"
NAMESPACE = "turnstile-system"
Grant = tuple[str, str, str, str, str]
"""Namespace, group, resource, name, verb; an empty namespace or name stands for all."""


def granted() -> list[Grant]:
    return [
        (role["metadata"].get("namespace", ""), group, resource, name, verb)
        for role in yaml.safe_load_all(ROLE.read_text())
        if role["kind"] in ("ClusterRole", "Role")
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for name in rule.get("resourceNames", [""])
        for verb in rule["verbs"]
    ]


def grants_for(need: Need) -> list[Grant]:
    return [(need.namespace, need.kind.group, need.rule_resource, need.name, verb) for verb in need.verbs]


def test_it_grants_what_is_needed_and_nothing_else() -> None:
    needs = (*needs_on_hub(job_kinds(Jobs()), NAMESPACE), *needs_of_plans())
    assert sorted(granted()) == sorted(grant for need in needs for grant in grants_for(need))
