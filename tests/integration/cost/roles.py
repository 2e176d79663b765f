"""The roles under deploy/rbac as rules of a local cluster, with a record of what was used of them."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from localcluster.access.auth import Allow, Attributes

FOLDER = Path(__file__).resolve().parents[3] / "deploy" / "rbac"


@dataclass(frozen=True)
class Recorded(Allow):
    """A rule that remembers what it was used for."""

    used: set[tuple[str, str]] = field(default_factory=set, hash=False, compare=False)

    def covers(self, wanted: Attributes) -> bool:
        is_covered = super().covers(wanted)
        if is_covered:
            self.used.add((wanted.verb, wanted.full_resource))
        return is_covered

    @property
    def granted(self) -> set[tuple[str, str]]:
        return {(verb, resource) for verb in self.verbs for resource in self.resources}


def documents(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((FOLDER / f"{name}.yaml").read_text()))


def rules_of(*names: str) -> tuple[Recorded, ...]:
    """Return the rules of some files together."""
    return tuple(
        Recorded(tuple(rule["verbs"]), tuple(rule["resources"]), tuple(rule["apiGroups"]))
        for name in names
        for document in documents(name)
        if document["kind"] == "ClusterRole"
        for rule in document["rules"]
    )
