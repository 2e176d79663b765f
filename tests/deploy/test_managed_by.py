"""The admission policy in a real kube-apiserver: jobs for Turnstile's queues say who manages them, others do not."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from config.names import MULTIKUEUE_NAME
from tests.deploy.kubectl import Kubectl, Manifest, dumped, parsed
from tests.realbed.apiserver import ApiServer
from tests.realbed.processes import wait_until

POLICY = Path(__file__).resolve().parents[2] / "deploy" / "kustomize" / "base" / "managed-by.yaml"
QUEUE = "kueue.x-k8s.io/queue-name"
JOBS = "/apis/batch/v1/namespaces/{}/jobs"
JOB_SETS = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/{}/jobsets"
_EFFECT_SECONDS = 60.0


def job(queue: str | None, **spec: Any) -> Manifest:
    pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}
    labels = {} if queue is None else {QUEUE: queue}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "job", "labels": labels},
        "spec": {"template": {"spec": pod}, **spec},
    }


def job_set(queue: str) -> Manifest:
    metadata = {"name": "set", "labels": {QUEUE: queue}}
    return {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": metadata, "spec": {}}


def tried(server: ApiServer, path: str, namespace: str, manifest: Manifest) -> Manifest:
    """Return what the server would store."""
    status, reply = server.call("POST", f"{path.format(namespace)}?dryRun=All", manifest)
    assert status == 201, reply
    return reply


def manager(server: ApiServer, namespace: str, manifest: Manifest, path: str = JOBS) -> str | None:
    found = tried(server, path, namespace, manifest)["spec"].get("managedBy")
    return None if found is None else str(found)


@pytest.fixture(scope="module")
def guarded(hub: ApiServer, kubectl: Kubectl) -> Iterator[ApiServer]:
    """Return the hub with the policy in effect for the namespace `team`."""
    _define_job_sets(hub)
    checked(kubectl.run("label", "namespace", "team", "multikueue-turnstile.dev/managed=true"))
    checked(kubectl.run("apply", "-f", str(POLICY)))
    wait_until(
        lambda: manager(hub, "team", job("research")) is not None, seconds=_EFFECT_SECONDS, what="the policy's effect"
    )
    # Policies learn of a new kind a little after it is served; until then it is refused.
    attempt = f"{JOB_SETS.format('team')}?dryRun=All"
    wait_until(
        lambda: hub.call("POST", attempt, job_set("research"))[0] != 503,
        seconds=_EFFECT_SECONDS,
        what="JobSets' schema",
    )
    yield hub
    checked(kubectl.run("delete", "-f", str(POLICY)))
    checked(kubectl.run("label", "namespace", "team", "multikueue-turnstile.dev/managed-"))


def checked(done: subprocess.CompletedProcess[str]) -> None:
    assert done.returncode == 0, done.stderr


def _define_job_sets(server: ApiServer) -> None:
    """Serve a kind with the one field that matters here."""
    loose = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1alpha2",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": loose}}},
    }
    names = {"kind": "JobSet", "plural": "jobsets", "singular": "jobset", "listKind": "JobSetList"}
    definition = {
        "metadata": {"name": "jobsets.jobset.x-k8s.io"},
        "spec": {"group": "jobset.x-k8s.io", "names": names, "scope": "Namespaced", "versions": [version]},
    }
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    assert server.call("POST", path, definition)[0] == 201
    listing = JOB_SETS.format("team")
    wait_until(lambda: server.call("GET", listing)[0] == 200, seconds=_EFFECT_SECONDS, what="JobSets to be served")


def test_a_job_for_a_queue_is_managed_by_multikueue(guarded: ApiServer) -> None:
    assert manager(guarded, "team", job("research")) == MULTIKUEUE_NAME


def test_a_job_set_for_a_queue_too(guarded: ApiServer) -> None:
    assert manager(guarded, "team", job_set("research"), JOB_SETS) == MULTIKUEUE_NAME


def test_the_sample_job_too(guarded: ApiServer) -> None:
    (sample,) = parsed((POLICY.parents[2] / "samples" / "job.yaml").read_text())
    assert manager(guarded, "team", sample) == MULTIKUEUE_NAME


def test_a_job_without_a_queue_is_left_alone(guarded: ApiServer) -> None:
    assert manager(guarded, "team", job(None)) is None


def test_a_job_in_another_namespace_is_left_alone(guarded: ApiServer) -> None:
    assert manager(guarded, "other", job("research")) is None


def test_a_manager_that_the_user_named_stays(guarded: ApiServer) -> None:
    assert manager(guarded, "team", job("research", managedBy="example.com/mine")) == "example.com/mine"


def test_it_can_be_confined_to_some_queues(guarded: ApiServer, kubectl: Kubectl) -> None:
    policy, binding = parsed(POLICY.read_text())
    (selected,) = binding["spec"]["matchResources"]["objectSelector"]["matchExpressions"]
    narrow = yaml.safe_load(yaml.safe_dump(binding))
    narrow["spec"]["matchResources"]["objectSelector"]["matchExpressions"] = [
        {"key": selected["key"], "operator": "In", "values": ["research"]}
    ]
    checked(kubectl.run("apply", "-f", "-", given=dumped([policy, narrow])))
    try:
        wait_until(
            lambda: manager(guarded, "team", job("local")) is None, seconds=_EFFECT_SECONDS, what="the narrower policy"
        )
        assert manager(guarded, "team", job("research")) == MULTIKUEUE_NAME
    finally:
        checked(kubectl.run("apply", "-f", "-", given=dumped([policy, binding])))
        wait_until(
            lambda: manager(guarded, "team", job("local")) is not None, seconds=_EFFECT_SECONDS, what="the wider policy"
        )
