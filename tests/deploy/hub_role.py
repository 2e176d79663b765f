"""What the daemon needs on the hub, and what a role grants."""

from pathlib import Path
from typing import NamedTuple

import yaml

from config.sections.sections import JobsSection
from manager.base.kinds import job_kinds
from manager.clusters.permissions import needs_of_plans, needs_on_hub

ROLES = Path(__file__).resolve().parents[2] / "deploy" / "rbac"


NEEDS = (*needs_on_hub(job_kinds(JobsSection()), "turnstile-system"), *needs_of_plans())


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
