"""kubectl's typed commands against a local cluster: what a new user types first.

Unlike `kubectl apply` they send protobuf, and read the answer as a Go type.
"""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from localcluster.cluster import LocalCluster

pytestmark = pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")


class Kubectl:
    """Runs kubectl as the administrator of a cluster; an exit code other than 0 fails the test."""

    def __init__(self, cluster: LocalCluster, home: Path) -> None:
        self._environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "KUBECONFIG": str(cluster.kubeconfig_path),
        }
        self.address = (f"--server={cluster.url}", f"--certificate-authority={cluster.ca_file}")

    async def __call__(self, *arguments: str) -> str:
        """Return what it printed."""
        process = await asyncio.create_subprocess_exec(
            "kubectl",
            *arguments,
            env=self._environment,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        async with asyncio.timeout(60):
            printed, complaint = await process.communicate()
        assert process.returncode == 0, complaint.decode()
        return printed.decode()

    async def get(self, kind: str, name: str) -> Any:
        """Return a stored object."""
        return orjson.loads(await self("get", kind, name, "-o", "json"))


@pytest.fixture
async def kubectl(tmp_path: Path) -> AsyncIterator[Kubectl]:
    """Serve a cluster and return kubectl for it."""
    async with LocalCluster("hub", tmp_path) as cluster:
        yield Kubectl(cluster, tmp_path)


@pytest.mark.parametrize(
    ("command", "kind", "want"),
    [
        pytest.param("namespace team", "namespace", {"status": {"phase": "Active"}}, id="namespace"),
        pytest.param("configmap c --from-literal=a=b", "configmap", {"data": {"a": "b"}}, id="configmap"),
        pytest.param(
            "secret generic s --from-literal=a=b", "secret", {"type": "Opaque", "data": {"a": "Yg=="}}, id="secret"
        ),
        pytest.param("serviceaccount robot", "serviceaccount", {}, id="serviceaccount"),
        pytest.param(
            "priorityclass high --value=1000 --preemption-policy=Never --description=x",
            "priorityclass",
            {"value": 1000, "preemptionPolicy": "Never", "description": "x"},
            id="priorityclass",
        ),
        pytest.param(
            "pdb b --selector=a=b --min-available=50%",
            "pdb",
            {"spec": {"minAvailable": "50%", "selector": {"matchLabels": {"a": "b"}}}},
            id="pdb with a share",
        ),
        pytest.param(
            "pdb b --selector=a=b --max-unavailable=1",
            "pdb",
            {"spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"a": "b"}}}},
            id="pdb with a number",
        ),
        pytest.param(
            "role r --verb=get,list --resource=pods",
            "role",
            {"rules": [{"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"]}]},
            id="role",
        ),
        pytest.param(
            "clusterrole r --verb=get --non-resource-url=/metrics",
            "clusterrole",
            {"rules": [{"verbs": ["get"], "nonResourceURLs": ["/metrics"]}]},
            id="clusterrole",
        ),
        pytest.param(
            "rolebinding b --role=r --serviceaccount=default:robot",
            "rolebinding",
            {
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
                "subjects": [{"kind": "ServiceAccount", "name": "robot", "namespace": "default"}],
            },
            id="rolebinding",
        ),
        pytest.param(
            "clusterrolebinding b --clusterrole=r --user=eve",
            "clusterrolebinding",
            {
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "r"},
                "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "eve"}],
            },
            id="clusterrolebinding",
        ),
    ],
)
async def test_kubectl_create(kubectl: Kubectl, command: str, kind: str, want: dict[str, Any]) -> None:
    """The object is stored as the command meant it."""
    arguments = command.split()
    name = next(word for word in arguments[2 if arguments[0] == "secret" else 1 :] if not word.startswith("--"))
    printed = await kubectl("create", *arguments)
    assert printed.endswith(f"/{name} created\n")
    stored = await kubectl.get(kind, name)
    assert {key: stored.get(key) for key in want} == want


async def test_kubectl_create_job(kubectl: Kubectl) -> None:
    """A job is deleted again with its options in the body."""
    assert await kubectl("create", "job", "j", "--image=x", "--", "sleep", "1") == "job.batch/j created\n"
    template = (await kubectl.get("job", "j"))["spec"]["template"]["spec"]
    assert template["restartPolicy"] == "Never"
    assert [(each["image"], each["command"]) for each in template["containers"]] == [("x", ["sleep", "1"])]
    await kubectl("delete", "job", "j", "--cascade=orphan")
    assert await kubectl("get", "jobs", "-o", "name") == ""


async def test_kubectl_run(kubectl: Kubectl) -> None:
    """A pod has what the flags ask for."""
    flags = ("--image=x", "--env=A=b", "--labels=team=red", "--port=80", "--restart=Never")
    assert await kubectl("run", "p", *flags) == "pod/p created\n"
    pod = await kubectl.get("pod", "p")
    assert pod["metadata"]["labels"] == {"team": "red"}
    container = pod["spec"]["containers"][0]
    assert container["env"] == [{"name": "A", "value": "b"}]
    assert [port["containerPort"] for port in container["ports"]] == [80]
    await kubectl("delete", "pod", "p", "--now")


async def test_kubectl_auth(kubectl: Kubectl) -> None:
    """Questions about access are answered."""
    assert await kubectl("auth", "can-i", "create", "pods") == "yes\n"
    assert "*.*" in await kubectl("auth", "can-i", "--list")
    assert "admin" in await kubectl("auth", "whoami")


async def test_kubectl_create_token(kubectl: Kubectl) -> None:
    """A service account gets a token with which the cluster knows it."""
    await kubectl("create", "serviceaccount", "robot")
    token = (await kubectl("create", "token", "robot", "--duration=10m")).strip()
    whoami = await kubectl("auth", "whoami", "--kubeconfig=/dev/null", *kubectl.address, f"--token={token}")
    assert "system:serviceaccount:default:robot" in whoami
