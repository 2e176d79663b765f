"""Worlds in which jobs are planned: the hub's queues lead to the workers, and a job can be submitted after its plan."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import yaml
from typer.testing import Result

from tests.integration.orchestrator.commands import command
from tests.integration.orchestrator.forecasting import QUEUE, forecasting, passing, queue, tenant
from tests.integration.orchestrator.kueue import KUEUE, NAMESPACE, Obj, job
from tests.integration.orchestrator.world import CHECK, SYSTEM, World
from tests.support.builders import Builder

URGENT = 100


def open_hub(made: World) -> None:
    """Give the hub a queue whose check leads to the workers, and a priority class."""
    strategy = {"admissionChecks": [{"name": CHECK}]}
    spec = {"namespaceSelector": {}, "admissionChecksStrategy": strategy}
    made.hub.create("clusterqueues", {"metadata": {"name": "cq"}, "spec": spec}, KUEUE)
    made.hub.create("localqueues", {"metadata": {"name": QUEUE}, "spec": {"clusterQueue": "cq"}}, KUEUE, NAMESPACE)
    classes: Obj = {"metadata": {"name": "urgent"}, "value": URGENT}
    made.hub.create("workloadpriorityclasses", classes, KUEUE)


def urgent_job(name: str = "train", cpu: int = 4, pods: int = 1) -> Obj:
    """Return a job whose pods ask for so much."""
    made = job(name, parallelism=pods, completions=pods)
    made["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = "urgent"
    made["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = str(cpu)
    return made


def write(path: Path, *documents: Obj) -> Path:
    """Write manifests to a file."""
    path.write_text("---\n".join(yaml.safe_dump(document) for document in documents))
    return path


def write_configuration(made: World, path: Path, **sections: Any) -> Path:
    """Write the configuration file of a daemon for this world."""
    document = {
        "apiVersion": "config.multikueue-turnstile.dev/v1alpha1",
        "kind": "Configuration",
        "hub": {"kubeconfig": str(made.hub.local.kubeconfig_path), "namespace": SYSTEM, "origin": "hub-under-test"},
        "jobs": {"integrations": ["batch/job"]},
        **sections,
    }
    path.write_text(yaml.safe_dump(document))
    return path


def plan_of(output: str) -> Obj:
    """Return the plan that a command printed as JSON."""
    found: Obj = json.loads(output)
    assert found["kind"] == "Plan"
    return found


FULL: list[Builder] = [queue(), tenant("low")]


ROOMY: list[Builder] = [queue(8), tenant("other", 2)]


@asynccontextmanager
async def planning(directory: Path, setting: dict[str, list[Builder]], **options: Any) -> AsyncIterator[World]:
    """Run a daemon whose hub has a queue, on workers whose own tenants have been admitted."""
    async with forecasting(directory, setting, **options) as made:
        open_hub(made)
        tenants = [(name, each.name) for name, all_of in setting.items() for each in all_of if _is_workload(each)]
        await passing(made, lambda: all(made[name].condition("Admitted", each) for name, each in tenants))
        await made.settled()
        yield made


def _is_workload(builder: Builder) -> bool:
    return bool(builder.raw["kind"] == "Workload")


async def planned(made: World, directory: Path, *documents: Obj, options: tuple[str, ...] = ()) -> Result:
    file, socket = write(directory / "job.yaml", *documents), directory / "s"
    socket.unlink(missing_ok=True)  # left by the command before, and nothing would answer on it
    return await command(made, socket, "plan", "-f", str(file), *options)


async def plan(made: World, directory: Path, document: Obj) -> Obj:
    result = await planned(made, directory, document, options=("-o", "json"))
    assert result.stdout, result.stderr
    return plan_of(result.stdout)
