"""The same servers through kubectl's eyes."""

import asyncio
import re
import shutil
from pathlib import Path

import pytest

from tests.conformance.builders import cluster_queue, condition, local_queue, secret, workload
from tests.conformance.client import Api, Obj
from tests.conformance.kubectl import Kubectl
from tests.conformance.resources import CLUSTER_QUEUES, LOCAL_QUEUES, WORKLOADS
from tests.conformance.servers import Server, is_continuous_integration


@pytest.fixture(scope="session")
def program() -> str:
    found = shutil.which("kubectl")
    if found is None:
        if is_continuous_integration():
            pytest.fail("kubectl is not on PATH")
        pytest.skip("kubectl is not on PATH")
    return found


@pytest.fixture(scope="package")
def home(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Path:
    # One cache of discovery per server, as a user would have.
    return tmp_path_factory.mktemp("kubectl")


@pytest.fixture
def kubectl(server: Server, program: str, home: Path, namespace: str) -> Kubectl:
    return Kubectl(program, server.kubeconfig, home, namespace)


async def columns(kubectl: Kubectl, *arguments: str) -> list[list[str]]:
    return [re.split(r"  +", line.strip()) for line in (await kubectl(*arguments)).splitlines()]


async def test_create_and_get(kubectl: Kubectl) -> None:
    built = local_queue("a")
    assert await kubectl("create", "-f", "-", given=built) == "localqueue.kueue.x-k8s.io/a created\n"
    found = await kubectl.json("get", "localqueue", "a")
    assert (found["kind"], found["spec"]["clusterQueue"]) == ("LocalQueue", "cq")
    assert await kubectl("get", "lq", "a", "-o", "name") == "localqueue.kueue.x-k8s.io/a\n"
    assert await kubectl("get", "lq", "a", "-o", "jsonpath={.spec.clusterQueue}") == "cq"
    error = await kubectl.fail("create", "-f", "-", given=built)
    assert 'Error from server (AlreadyExists): error when creating "STDIN"' in error


async def test_create_refuses_unknown_fields(kubectl: Kubectl) -> None:
    error = await kubectl.fail("create", "-f", "-", given=local_queue("a", nosuch="x"))
    assert 'unknown field "spec.nosuch"' in error


async def test_create_shows_what_is_invalid(kubectl: Kubectl) -> None:
    error = await kubectl.fail("create", "-f", "-", given=local_queue("a", stopPolicy="Sometimes"))
    assert 'The LocalQueue "a" is invalid' in error
    assert "spec.stopPolicy: Unsupported value" in error


async def test_get_of_nothing(kubectl: Kubectl) -> None:
    assert 'Error from server (NotFound): workloads.kueue.x-k8s.io "a" not found' in await kubectl.fail(
        "get", "kwl", "a"
    )
    result = await kubectl.attempt("get", "kwl")
    assert (result.code, result.out) == (0, "")
    assert f"No resources found in {kubectl.namespace} namespace." in result.err
    assert "the server doesn't have a resource type" in await kubectl.fail("get", "nosuchthings")


async def test_table_of_workloads(api: Api, kubectl: Kubectl) -> None:
    (await api.post(WORKLOADS.at(kubectl.namespace), workload("a", queueName="q"))).expect(201)
    status = {"status": {"conditions": [condition("Admitted")]}}
    (await api.patch(WORKLOADS.at(kubectl.namespace, "a", "status"), status)).ok()
    head, row = await columns(kubectl, "get", "kwl")
    assert head == ["NAME", "QUEUE", "RESERVED IN", "ADMITTED", "FINISHED", "AGE"]
    assert row[:3] == ["a", "q", "True"]
    head, row = await columns(kubectl, "get", "kwl", "-o", "wide")
    assert row[0] == "a"
    head, *rows = await columns(kubectl, "get", "kwl", "-A")
    assert head[:2] == ["NAMESPACE", "NAME"]
    assert [kubectl.namespace, "a", "q", "True"] in [each[:4] for each in rows]


async def test_wide_table_shows_more(api: Api, kubectl: Kubectl) -> None:
    name = kubectl.namespace
    (await api.post(CLUSTER_QUEUES.at(), cluster_queue(name, cohortName="team"))).expect(201)
    narrow, _ = await columns(kubectl, "get", "cq", name)
    wide, row = await columns(kubectl, "get", "cq", name, "-o", "wide")
    assert narrow == ["NAME", "COHORT", "PENDING WORKLOADS"]
    assert wide == ["NAME", "COHORT", "STRATEGY", "PENDING WORKLOADS", "ADMITTED WORKLOADS"]
    assert row[:3] == [name, "team", "BestEffortFIFO"]


async def test_list_with_selectors(api: Api, kubectl: Kubectl) -> None:
    for name, team in (("a", "red"), ("b", "blue")):
        built = local_queue(name, metadata={"labels": {"team": team}})
        (await api.post(LOCAL_QUEUES.at(kubectl.namespace), built)).expect(201)
    name = "jsonpath={.items[*].metadata.name}"
    assert await kubectl("get", "lq", "-o", name) == "a b"
    assert await kubectl("get", "lq", "-o", name, "-l", "team=blue") == "b"
    assert await kubectl("get", "lq", "-o", name, "-l", "team in (red,blue),team!=red") == "b"
    assert await kubectl("get", "lq", "-o", name, "--field-selector", "metadata.name=a") == "a"
    assert await kubectl("get", "lq", "-o", name, "--chunk-size=1") == "a b"
    _, row = await columns(kubectl, "get", "lq", "-l", "team=red", "--show-labels")
    assert row[-1] == "team=red"


async def test_client_side_apply(kubectl: Kubectl) -> None:
    one = local_queue("a", metadata={"labels": {"kept": "1", "gone": "1"}})
    two = local_queue("a", metadata={"labels": {"kept": "2"}})
    assert await kubectl("apply", "-f", "-", given=one) == "localqueue.kueue.x-k8s.io/a created\n"
    assert await kubectl("apply", "-f", "-", given=one) == "localqueue.kueue.x-k8s.io/a unchanged\n"
    assert await kubectl("apply", "-f", "-", given=two) == "localqueue.kueue.x-k8s.io/a configured\n"
    assert (await kubectl.json("get", "lq", "a"))["metadata"]["labels"] == {"kept": "2"}


async def test_client_side_apply_of_a_built_in_kind(kubectl: Kubectl) -> None:
    one = secret("a", stringData={"k": "1", "l": "1"}, metadata={"labels": {"x": "1"}})
    assert await kubectl("apply", "-f", "-", given=one) == "secret/a created\n"
    one["metadata"]["labels"] = {"x": "2"}
    assert await kubectl("apply", "-f", "-", given=one) == "secret/a configured\n"
    assert (await kubectl.json("get", "secret", "a"))["data"] == {"k": "MQ==", "l": "MQ=="}


async def test_server_side_apply(kubectl: Kubectl) -> None:
    def labelled(value: str) -> Obj:
        return local_queue("a", metadata={"labels": {"x": value}})

    apply = ("apply", "--server-side", "-f", "-")
    done = "localqueue.kueue.x-k8s.io/a serverside-applied\n"
    assert await kubectl(*apply, "--field-manager=one", given=labelled("1")) == done
    error = await kubectl.fail(*apply, "--field-manager=two", given=labelled("2"))
    assert 'Apply failed with 1 conflict: conflict with "one": .metadata.labels.x' in error
    assert "If you intend to manage all of these fields, please re-run the apply" in error
    assert await kubectl(*apply, "--field-manager=two", "--force-conflicts", given=labelled("2")) == done
    found = await kubectl.json("get", "lq", "a", "--show-managed-fields")
    assert {each["manager"] for each in found["metadata"]["managedFields"]} >= {"two"}


async def test_dry_run_and_diff(kubectl: Kubectl) -> None:
    created = await kubectl("create", "--dry-run=server", "-f", "-", given=local_queue("a"))
    assert created == "localqueue.kueue.x-k8s.io/a created (server dry run)\n"
    assert "NotFound" in await kubectl.fail("get", "lq", "a")


async def test_patch(kubectl: Kubectl) -> None:
    await kubectl("create", "-f", "-", given=local_queue("a"))
    patched = "localqueue.kueue.x-k8s.io/a patched\n"
    merge = '{"spec":{"stopPolicy":"Hold"}}'
    assert await kubectl("patch", "lq", "a", "--type=merge", "-p", merge) == patched
    operations = '[{"op":"test","path":"/spec/stopPolicy","value":"Hold"},{"op":"remove","path":"/spec/stopPolicy"}]'
    assert await kubectl("patch", "lq", "a", "--type=json", "-p", operations) == patched
    assert (await kubectl.json("get", "lq", "a"))["spec"]["stopPolicy"] == "None"
    status = '{"status":{"pendingWorkloads":4}}'
    assert await kubectl("patch", "lq", "a", "--subresource=status", "--type=merge", "-p", status) == patched
    assert await kubectl("get", "lq", "a", "-o", "jsonpath={.status.pendingWorkloads}") == "4"
    error = await kubectl.fail("patch", "lq", "a", "-p", "{}")
    assert "application/strategic-merge-patch+json is not supported by kueue.x-k8s.io/v1beta2" in error


async def test_label_and_annotate(kubectl: Kubectl) -> None:
    await kubectl("create", "-f", "-", given=local_queue("a"))
    assert await kubectl("label", "lq", "a", "x=1") == "localqueue.kueue.x-k8s.io/a labeled\n"
    assert await kubectl("label", "lq", "a", "x-") == "localqueue.kueue.x-k8s.io/a unlabeled\n"
    assert await kubectl("annotate", "lq", "a", "y=1") == "localqueue.kueue.x-k8s.io/a annotated\n"


async def test_wait_for_a_condition(api: Api, kubectl: Kubectl) -> None:
    at = WORKLOADS.at(kubectl.namespace)
    (await api.post(at, workload("a"))).expect(201)
    arguments = ("wait", "kwl/a", "--for=condition=Admitted", "--timeout=30s")
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(kubectl(*arguments))
        status = {"status": {"conditions": [condition("Admitted")]}}
        (await api.patch(f"{at}/a/status", status)).ok()
    assert waiting.result() == "workload.kueue.x-k8s.io/a condition met\n"
    assert "condition met" in await kubectl("wait", "kwl/a", "--for=jsonpath={.spec.active}=true", "--timeout=30s")
    error = await kubectl.fail("wait", "kwl/a", "--for=condition=Finished", "--timeout=1ms")
    assert "timed out waiting for the condition" in error


async def test_wait_for_deletion(api: Api, kubectl: Kubectl) -> None:
    at = LOCAL_QUEUES.at(kubectl.namespace)
    (await api.post(at, local_queue("a", metadata={"finalizers": ["example.com/hold"]}))).expect(201)
    async with asyncio.TaskGroup() as group:
        deleting = group.create_task(kubectl("delete", "lq", "a", "--timeout=30s"))
        async with api.watch(at) as watch:
            while (event := await watch.next())["object"]["metadata"].get("deletionTimestamp") is None:
                assert event["type"] in {"ADDED", "MODIFIED"}
        (await api.patch(f"{at}/a", {"metadata": {"finalizers": None}})).ok()
    assert deleting.result().startswith('localqueue.kueue.x-k8s.io "a" deleted')


async def test_watch(api: Api, kubectl: Kubectl) -> None:
    at = LOCAL_QUEUES.at(kubectl.namespace)
    (await api.post(at, local_queue("a"))).expect(201)
    async with kubectl.running("get", "lq", "--watch", "--output-watch-events") as process, asyncio.timeout(120):
        assert process.stdout is not None
        seen = [(await process.stdout.readline()).decode().split()[:2] for _ in range(2)]
        (await api.post(at, local_queue("b"))).expect(201)
        seen.append((await process.stdout.readline()).decode().split()[:2])
        (await api.delete(f"{at}/a")).ok()
        seen.append((await process.stdout.readline()).decode().split()[:2])
    assert seen == [["EVENT", "NAME"], ["ADDED", "a"], ["ADDED", "b"], ["DELETED", "a"]]


async def test_delete(kubectl: Kubectl) -> None:
    for name in ("a", "b", "c"):
        await kubectl("create", "-f", "-", given=local_queue(name))
    assert (await kubectl("delete", "lq", "a")).startswith('localqueue.kueue.x-k8s.io "a" deleted')
    assert "NotFound" in await kubectl.fail("delete", "lq", "a")
    assert await kubectl("delete", "lq", "a", "--ignore-not-found") == ""
    assert len((await kubectl("delete", "lq", "--all", "--cascade=background")).splitlines()) == 2
    assert (await kubectl.json("get", "lq"))["items"] == []


async def test_replace(kubectl: Kubectl) -> None:
    await kubectl("create", "-f", "-", given=local_queue("a"))
    found = await kubectl.json("get", "lq", "a")
    found["spec"]["stopPolicy"] = "Hold"
    assert await kubectl("replace", "-f", "-", given=found) == "localqueue.kueue.x-k8s.io/a replaced\n"
    error = await kubectl.fail("replace", "-f", "-", given={**found, "spec": {"clusterQueue": "other"}})
    assert "the object has been modified" in error or "Conflict" in error


async def test_api_resources(kubectl: Kubectl) -> None:
    kueue = await columns(kubectl, "api-resources", "--api-group=kueue.x-k8s.io", "--no-headers")
    assert ["localqueues", "queue,queues,lq", "kueue.x-k8s.io/v1beta2", "true", "LocalQueue"] in kueue
    assert ["clusterqueues", "cq", "kueue.x-k8s.io/v1beta2", "false", "ClusterQueue"] in kueue
    names = (await kubectl("api-resources", "-o", "name", "--verbs=list")).split()
    assert {"secrets", "pods", "jobs.batch", "leases.coordination.k8s.io"} <= set(names)
    assert "kueue.x-k8s.io/v1beta2" in (await kubectl("api-versions")).split()


async def test_explain(kubectl: Kubectl) -> None:
    text = await kubectl("explain", "kwl.spec")
    assert re.search(r"KIND: +Workload", text)
    assert re.search(r"queueName\t<string>", text)
    assert re.search(r"preemptionGates\t<\[\]Object>", text)


async def test_version(kubectl: Kubectl) -> None:
    version = await kubectl.json("version")
    assert version["serverVersion"]["gitVersion"].startswith("v1.36.")
