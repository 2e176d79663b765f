"""Every shipped role on a real kube-apiserver: whole it allows all that it is for; each verb less is missed by name."""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from config.kubeconfig.access import ClusterAccess
from config.kubeconfig.parsing import parse_kubeconfig
from config.sections.sections import JobsSection, KubeconfigPolicy
from manager.base.kinds import job_kinds
from manager.clusters.permissions import (
    complaint,
    complaint_about_hub,
    needs_of_detection,
    needs_of_forecasts,
    needs_of_identity,
    needs_of_pod_forecasts,
    needs_of_topology,
    needs_on_worker,
)
from tests.deploy.hub_role import NEEDS as NEEDS_ON_HUB
from tests.deploy.hub_role import Grant, granted
from tests.deploy.kubectl import Kubectl
from tests.realbed.apiserver import ApiServer
from tests.support.clusters import no_jitter
from tests.support.virtual_time import VirtualClock
from workerclient.base.kind import ApiKind
from workerclient.cluster import ClientContext, ClusterClient
from workerclient.questions.preflight import Missing, Need

RBAC_FILES = Path(__file__).resolve().parents[2] / "deploy" / "rbac"
ACCOUNTS = "/api/v1/namespaces/other/serviceaccounts"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
OF_CODE: Mapping[str, tuple[Need, ...]] = {
    "hub.yaml": NEEDS_ON_HUB,
    "worker.yaml": (*needs_of_identity(), *needs_on_worker(job_kinds(JobsSection()))),
    "worker-forecasts.yaml": needs_of_forecasts(),
    "worker-pod-forecasts.yaml": needs_of_pod_forecasts(),
    "worker-topology.yaml": needs_of_topology(),
    "worker-kueue.yaml": needs_of_detection(),
}
"""What the code says that it needs; of the other roles, what they grant is asked for."""
FILES = (
    *OF_CODE,
    *("shadow.yaml", "shadow-worker.yaml"),
    *("cost-controller.yaml", "cost-controller-bridge.yaml", "cost-controller-copy.yaml"),
    *("cost-controller-events.yaml", "endpoints/endpoint-authorization.yaml"),
)


@dataclass(frozen=True)
class Account:
    """A user with a role, but for one verb of it."""

    missing: Grant | None
    access: ClusterAccess


def needs_of(file: str) -> tuple[Need, ...]:
    return OF_CODE.get(file) or tuple(
        Need(_kind(each), (each.verb,), each.resource.partition("/")[2], each.namespace, each.name)
        for each in granted(file)
    )


def _kind(grant: Grant) -> ApiKind:
    plural = grant.resource.partition("/")[0]
    return ApiKind(grant.group, "v1", plural, plural, namespaced=bool(grant.namespace))


def create(server: ApiServer, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
    code, answer = server.call("POST", path, body)
    assert code == 201, answer
    return answer


def account(server: ApiServer, name: str, grants: Iterable[Grant], missing: Grant | None) -> Account:
    """Make an account and give it roles of these grants."""
    create(server, ACCOUNTS, {"metadata": {"name": name}})
    for namespace, inside in groupby(sorted(grants, key=lambda each: each.namespace), lambda each: each.namespace):
        rules = [
            {"apiGroups": [each.group], "resources": [each.resource], "verbs": [each.verb]}
            | ({"resourceNames": [each.name]} if each.name else {})
            for each in inside
        ]
        kind = "Role" if namespace else "ClusterRole"
        where = f"{RBAC}/namespaces/{namespace}" if namespace else RBAC
        create(server, f"{where}/{kind.lower()}s", {"metadata": {"name": name}, "rules": rules})
        binding = {
            "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": "other"}],
        }
        create(server, f"{where}/{kind.lower()}bindings", binding)
    token = create(server, f"{ACCOUNTS}/{name}/token", {"spec": {}})["status"]["token"]
    return Account(missing, ClusterAccess(server.url, ca=server.ca_file.read_bytes(), token=token))


async def missed(access: ClusterAccess, needs: Iterable[Need]) -> list[Missing]:
    client = ClusterClient("real", access, ClientContext(VirtualClock(), no_jitter))
    try:
        return await client.missing_permissions(needs)
    finally:
        await client.close()


@pytest.mark.parametrize("file", FILES)
async def test_each_verb_that_is_taken_away_is_missed_by_name(hub: ApiServer, file: str) -> None:
    grants, needs, prefix = granted(file), needs_of(file), Path(file).stem
    accounts = [
        account(hub, f"{prefix}-{index}", [each for each in grants if each != taken], taken)
        for index, taken in enumerate(grants)
    ]
    whole = account(hub, f"{prefix}-whole", grants, None)  # the last: once the server knows its roles it knows all
    async with asyncio.timeout(60):
        while await missed(whole.access, needs):  # noqa: ASYNC110 - a cache of the server sends no notification
            await asyncio.sleep(0.05)
    for each in accounts:
        assert each.missing is not None
        found = await missed(each.access, needs)
        (need,) = {need.resource for need in needs if is_about(need, each.missing)}
        assert {str(one) for one in found} == {f"{each.missing.verb} {need}"}
        said = complaint_about_hub(found) if file == "hub.yaml" else complaint("w1", found)
        assert f"{each.missing.verb} on {need}" in said


def is_about(need: Need, grant: Grant) -> bool:
    """Return whether a need is met by this grant."""
    place = (need.kind.group, need.rule_resource, need.namespace, need.name)
    return place == (grant.group, grant.resource, grant.namespace, grant.name) and grant.verb in need.verbs


def test_the_script_prints_a_kubeconfig_of_the_service_account(kubectl: Kubectl, tmp_path: Path) -> None:
    assert kubectl.run("apply", "-f", str(RBAC_FILES / "hub.yaml")).returncode == 0
    printed = kubectl.script(RBAC_FILES / "hub-kubeconfig.sh", "24h")
    assert printed.returncode == 0, printed.stderr
    (tmp_path / "own").write_text(printed.stdout)
    assert parse_kubeconfig(printed.stdout.encode(), KubeconfigPolicy()).token
    own = ("--kubeconfig", str(tmp_path / "own"))
    assert kubectl.run(*own, "auth", "can-i", "watch", "workloads.kueue.x-k8s.io", "-A").stdout.strip() == "yes"
    assert kubectl.run(*own, "auth", "can-i", "create", "pods", "-A").stdout.strip() == "no"
