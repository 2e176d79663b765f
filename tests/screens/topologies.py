"""The screens about topologies in docs/cli.md."""

from pathlib import Path

from tests.integration.orchestrator.topologies import add_pod, admitted, own, with_topology
from tests.screens.camera import beside

JOB = "docs/examples/topology-job.yaml"


async def topologies(directory: Path) -> dict[str, str]:
    """Show the domains of a worker, and plan a job for which its nodes are too fragmented."""
    async with with_topology(directory) as made:
        worker = made["w1"]
        own(worker, "low", 5, priority=200, required="rack")
        await admitted(made, "low")
        own(worker, "mid", 5, priority=200, required="rack")
        await admitted(made, "mid")
        add_pod(worker, "daemon", "h21", 1)
        await made.settled()
        async with beside(made, directory) as camera:
            await camera.take("status-topology", "status", "topology", "w1")
            await camera.take("plan-topology", "plan", "-f", JOB)
        return camera.screens
