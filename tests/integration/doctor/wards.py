"""Worlds for the doctor: a healthy hub with healthy workers, to which a test does one thing."""

import base64
import json
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import yaml

from gates.diagnosis.finding import Finding
from localcluster.access.auth import Allow
from manager.doctor.rounds import Diagnosis, examine_all
from tests.integration.orchestrator.forecasting import give, queue
from tests.integration.orchestrator.planning import open_hub
from tests.integration.orchestrator.world import World, steady, world
from tests.support.clusters import access_to
from tests.support.virtual_time import VirtualClock
from workerclient.cluster import ClientContext

ROLES = Path(__file__).resolve().parents[3] / "deploy" / "rbac"
SECONDS = 20.0
Grant = tuple[str, str, str]
"""Group, resource, verb."""


@asynccontextmanager
async def ward(directory: Path, *names: str, **options: Any) -> AsyncIterator[World]:
    """Run a hub and workers on which nothing is wrong; no daemon. The Configurations of their Kueues are known."""
    options.setdefault("forecast", {"enabled": True})
    options.setdefault("workers", [{"name": name, "kueue_configuration": switched_on(directory)} for name in names])
    async with world(directory, *names, **options) as made:
        open_hub(made)
        for name in names:
            give(made[name], queue())
        yield made


def switched_on(directory: Path) -> str:
    """Write the Configuration of a Kueue that honours gates."""
    file = directory / "kueue.yaml"
    file.write_text("kind: Configuration\nfeatureGates: {MultiKueueOrchestratedPreemption: true}\n")
    return str(file)


async def examined(made: World, clock: VirtualClock | None = None, only: str | None = None) -> Diagnosis:
    """Examine a world."""
    client_context = ClientContext(clock or made.clock, steady)
    return await examine_all(made.configuration(), access_to(made.hub.local), client_context, SECONDS, only)


async def findings(made: World, clock: VirtualClock | None = None) -> list[Finding]:
    """Return what is found."""
    return list((await examined(made, clock)).findings)


def told(found: Iterable[Finding]) -> list[tuple[str, str, str]]:
    """Return findings as a person reads them, without the remedy."""
    return [(each.cluster, str(each.severity), each.message) for each in found]


def grants_of(*files: str) -> list[Grant]:
    """Return what shipped roles grant."""
    return [
        (group, resource, verb)
        for file in files
        for role in yaml.safe_load_all((ROLES / file).read_text())
        if role["kind"] in ("ClusterRole", "Role")
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    ]


def allowing(grants: Iterable[Grant]) -> tuple[Allow, ...]:
    """Return rules that allow exactly this."""
    return tuple(Allow((verb,), (resource,), (group,)) for group, resource, verb in grants)


def change_kubeconfig(made: World, name: str, part: str, **fields: Any) -> None:
    """Change the cluster or the user in the kubeconfig that the hub has for a worker."""
    document = yaml.safe_load(made[name].kubeconfig())
    document[f"{part}s"][0][part].update(fields)
    made.put_secret(name, yaml.safe_dump(document).encode())


def token_until(seconds: float) -> str:
    """Return a token that says when it ends, and that no cluster accepts."""

    def part(content: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(content).encode()).decode().rstrip("=")

    return f"{part({'alg': 'none'})}.{part({'exp': int(seconds)})}.c2lnbmVk"
