"""Jobs for a local fleet fit its queues: those that the fleet writes, and those in docs/examples."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from config.names import MULTIKUEUE_NAME
from localcluster.sample_queues import PRIORITIES, QUEUE
from manager.local.samples import WORKER_CPUS, batch_jobs, urgent_job

EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"
HUB_JOB = yaml.safe_load((EXAMPLES / "hub-job.yaml").read_text())
WORKER_JOB = yaml.safe_load((EXAMPLES / "worker-job.yaml").read_text())
FOR_HUB = {"batch": batch_jobs(1)[0], "urgent": urgent_job(), "hub-job.yaml": HUB_JOB}


def cpus(job: dict[str, Any]) -> int:
    (container,) = job["spec"]["template"]["spec"]["containers"]
    return int(container["resources"]["requests"]["cpu"])


@pytest.mark.parametrize("job", [*FOR_HUB.values(), WORKER_JOB], ids=[*FOR_HUB, "worker-job.yaml"])
def test_a_job_names_the_queue_and_a_priority(job: dict[str, Any]) -> None:
    labels = job["metadata"]["labels"]
    assert labels["kueue.x-k8s.io/queue-name"] == QUEUE
    assert labels["kueue.x-k8s.io/priority-class"] in PRIORITIES
    assert job["spec"]["suspend"]
    assert cpus(job) <= WORKER_CPUS


@pytest.mark.parametrize("job", FOR_HUB.values(), ids=FOR_HUB)
def test_a_job_for_the_hub_names_its_manager(job: dict[str, Any]) -> None:
    assert job["spec"]["managedBy"] == MULTIKUEUE_NAME


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_batch_jobs_fill_all_workers_and_the_urgent_one_fits_only_by_preemption(workers: int) -> None:
    jobs = batch_jobs(workers)
    assert sum(map(cpus, jobs)) == workers * WORKER_CPUS
    assert len({job["metadata"]["name"] for job in jobs}) == len(jobs)
    assert cpus(urgent_job()) <= WORKER_CPUS
