"""`turnstile worker` on two real kube-apiservers, a hub and a worker, whose tokens are real."""

import base64
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from config.kubeconfig.parsing import parse_kubeconfig
from config.sections.sections import KubeconfigPolicy
from gates.diagnosis.identity import IS_HUB
from manager.onboarding.objects import account_of, worker_objects
from tests.deploy.kubectl import Kubectl, only, parsed
from tests.realbed import apiserver, kueue_crds
from tests.realbed import kubeconfig as kubeconfigs
from tests.realbed.apiserver import ApiServer

ROTATE = Path(__file__).resolve().parents[2] / "deploy" / "rotate"
CLUSTERS = "/apis/kueue.x-k8s.io/v1beta2/multikueueclusters"
CONFIGS = "/apis/kueue.x-k8s.io/v1beta2/multikueueconfigs"
SECRETS = "/api/v1/namespaces/turnstile-system/secrets"
ACCOUNTS = "/api/v1/namespaces/turnstile-system/serviceaccounts"
ROLE = "/apis/rbac.authorization.k8s.io/v1/clusterroles/turnstile-worker"
BINDINGS = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
FORECASTS_ROLE = f"{ROLE}-forecasts"

Done = subprocess.CompletedProcess[str]
Turnstile = Callable[..., Done]


@pytest.fixture(scope="module")
def worker(hub: ApiServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    with apiserver.run(tmp_path_factory.mktemp("worker")) as server:
        kueue_crds.install(server)
        yield server
        server.running.kill()  # a clean stop takes ten seconds, and nothing here is kept


@pytest.fixture
def turnstile(hub: ApiServer, worker: ApiServer, tmp_path: Path) -> Iterator[Turnstile]:
    """Run `turnstile worker`; no secret may be in what it prints, and nothing of it is left afterwards."""
    written: list[str] = []

    def run(*arguments: str, kubeconfig: Path = hub.kubeconfig) -> Done:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "manager", "worker", *arguments],
            capture_output=True,
            text=True,
            check=False,
            env={"PATH": os.environ.get("PATH", ""), "HOME": str(tmp_path), "KUBECONFIG": str(kubeconfig)},
        )
        written.append(done.stdout + done.stderr)
        assert "Traceback" not in done.stderr
        return done

    yield run
    everything = "".join(written)
    secrets = [token_of(stored) for stored in hub.call("GET", SECRETS)[1]["items"]]
    assert not any(secret in everything for secret in (*secrets, hub.admin_token, worker.admin_token))
    for listed in (CLUSTERS, CONFIGS, SECRETS):
        hub.call("DELETE", listed)
    for path in (account(hub), ROLE, FORECASTS_ROLE, *bindings(hub)):
        worker.call("DELETE", path)


def account_name(hub: ApiServer) -> str:
    return account_of(found(hub, "/api/v1/namespaces/kube-system")["metadata"]["uid"]).name


def account(hub: ApiServer) -> str:
    return f"{ACCOUNTS}/{account_name(hub)}"


def bindings(hub: ApiServer) -> list[str]:
    suffix = account_name(hub).removeprefix("turnstile")
    return [f"{BINDINGS}/turnstile-worker{suffix}", f"{BINDINGS}/turnstile-worker-forecasts{suffix}"]


def succeeded(done: Done) -> list[str]:
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def refused(done: Done, code: int = 1) -> str:
    assert done.returncode == code, done.stdout
    assert done.stderr.startswith("error: ")
    assert len(done.stderr.splitlines()) == 1
    return done.stderr.strip()


def found(hub: ApiServer, path: str) -> dict[str, Any]:
    status, stored = hub.call("GET", path)
    assert status == 200, stored
    return stored


def is_gone(hub: ApiServer, path: str) -> bool:
    return hub.call("GET", path)[0] == 404


def token_of(secret: dict[str, Any]) -> str:
    document = yaml.safe_load(base64.b64decode(secret["data"]["kubeconfig"]))
    return str(document["users"][0]["user"]["token"])


def may(kubectl: Kubectl, server: ApiServer, token: str, directory: Path, *question: str) -> str:
    """Ask the server what the holder of a token may do."""
    own = kubeconfigs.write(directory / "own", url=server.url, ca_file=server.ca_file, token=token)
    return kubectl.run("--kubeconfig", str(own), "auth", "can-i", *question).stdout.strip()


def add(turnstile: Turnstile, worker: ApiServer, *more: str) -> Done:
    return turnstile("add", "w1", "--kubeconfig", str(worker.kubeconfig), *more)


def test_a_worker_is_added_with_its_shipped_roles_and_no_more(
    turnstile: Turnstile, hub: ApiServer, worker: ApiServer, kubectl: Kubectl, tmp_path: Path
) -> None:
    succeeded(add(turnstile, worker, "--to-config", "all"))
    assert found(hub, f"{CLUSTERS}/w1")["spec"] == {
        "clusterSource": {"kubeConfig": {"locationType": "Secret", "location": "w1"}}
    }
    assert found(hub, f"{CONFIGS}/all")["spec"]["clusters"] == ["w1"]
    secret = found(hub, f"{SECRETS}/w1")
    access = parse_kubeconfig(base64.b64decode(secret["data"]["kubeconfig"]), KubeconfigPolicy())
    assert access.server == worker.url
    assert access.token is not None
    assert may(kubectl, worker, access.token, tmp_path, "create", "workloads.kueue.x-k8s.io", "-A") == "yes"
    assert may(kubectl, worker, access.token, tmp_path, "patch", "workloads.kueue.x-k8s.io/status", "-A") == "yes"
    for kind in ("cohorts.kueue.x-k8s.io", "limitranges", "runtimeclasses.node.k8s.io"):
        assert may(kubectl, worker, access.token, tmp_path, "watch", kind, "-A") == "yes", "forecasts are on by default"
    for question in (("get", "secrets"), ("create", "pods"), ("delete", "clusterqueues.kueue.x-k8s.io")):
        assert may(kubectl, worker, access.token, tmp_path, *question, "-A") == "no", question


def test_with_pod_forecasts_it_may_read_what_they_are_made_of_until_it_is_removed(
    turnstile: Turnstile, hub: ApiServer, worker: ApiServer, kubectl: Kubectl, tmp_path: Path
) -> None:
    succeeded(add(turnstile, worker, "--pod-forecast"))
    token = token_of(found(hub, f"{SECRETS}/w1"))
    for resource in ("nodes", "pods", "poddisruptionbudgets.policy", "clusterqueues.kueue.x-k8s.io"):
        assert may(kubectl, worker, token, tmp_path, "watch", resource, "-A") == "yes", resource
        assert may(kubectl, worker, token, tmp_path, "delete", resource, "-A") == "no", resource
    succeeded(turnstile("remove", "w1", "--kubeconfig", str(worker.kubeconfig)))
    assert is_gone(worker, f"{ROLE}-pod-forecasts")
    assert is_gone(worker, f"{ROLE}-forecasts")


def test_with_topologies_it_may_read_what_pods_are_placed_by_until_it_is_removed(
    turnstile: Turnstile, hub: ApiServer, worker: ApiServer, kubectl: Kubectl, tmp_path: Path
) -> None:
    succeeded(add(turnstile, worker, "--topology"))
    token = token_of(found(hub, f"{SECRETS}/w1"))
    for resource in ("nodes", "pods", "topologies.kueue.x-k8s.io"):
        assert may(kubectl, worker, token, tmp_path, "watch", resource, "-A") == "yes", resource
        assert may(kubectl, worker, token, tmp_path, "delete", resource, "-A") == "no", resource
    assert may(kubectl, worker, token, tmp_path, "watch", "poddisruptionbudgets.policy", "-A") == "no"
    succeeded(turnstile("remove", "w1", "--kubeconfig", str(worker.kubeconfig)))
    assert is_gone(worker, f"{ROLE}-topology")


def test_doing_it_again_changes_nothing(turnstile: Turnstile, hub: ApiServer, worker: ApiServer) -> None:
    succeeded(add(turnstile, worker, "--to-config", "all"))
    paths = ((worker, ROLE), (worker, bindings(hub)[0]), (worker, account(hub)), (hub, f"{SECRETS}/w1"))
    before = [found(*path)["metadata"]["resourceVersion"] for path in paths]
    lines = succeeded(add(turnstile, worker, "--to-config", "all"))
    assert not any(word in line for line in lines for word in ("created", "updated", "requested"))
    assert before == [found(*path)["metadata"]["resourceVersion"] for path in paths]


def test_an_older_role_of_turnstile_is_brought_up_to_date(
    turnstile: Turnstile, hub: ApiServer, worker: ApiServer
) -> None:
    succeeded(add(turnstile, worker))
    shipped = found(worker, ROLE)
    worker.call("PUT", ROLE, {**shipped, "rules": shipped["rules"][:1]})
    assert any(line.endswith("updated ClusterRole turnstile-worker") for line in succeeded(add(turnstile, worker)))
    assert found(worker, ROLE)["rules"] == shipped["rules"]


def test_a_role_that_an_administrator_narrowed_is_kept_and_what_it_lacks_is_told(
    turnstile: Turnstile, hub: ApiServer, worker: ApiServer
) -> None:
    rules = [{"apiGroups": ["kueue.x-k8s.io"], "resources": ["workloads"], "verbs": ["get", "list", "watch"]}]
    worker.call("POST", ROLE.rsplit("/", 1)[0], {"metadata": {"name": "turnstile-worker"}, "rules": rules})
    lines = succeeded(add(turnstile, worker))
    assert "w1: ClusterRole turnstile-worker is not the shipped one; unchanged, see --adopt" in lines
    assert any(line.startswith("warning: worker w1 does not allow in all namespaces: create, delete") for line in lines)
    assert found(worker, ROLE)["rules"] == rules


def test_a_rehearsal_writes_nothing(turnstile: Turnstile, hub: ApiServer, worker: ApiServer) -> None:
    lines = succeeded(add(turnstile, worker, "--to-config", "all", "--dry-run"))
    assert "w1: would create ClusterRole turnstile-worker" in lines
    assert "hub: would write Secret turnstile-system/w1" in lines
    assert all(is_gone(worker, path) for path in (ROLE, *bindings(hub), account(hub)))
    assert all(is_gone(hub, path) for path in (f"{CLUSTERS}/w1", f"{CONFIGS}/all"))


def test_a_second_worker_joins_the_configuration(turnstile: Turnstile, hub: ApiServer, worker: ApiServer) -> None:
    succeeded(add(turnstile, worker, "--to-config", "all"))
    succeeded(turnstile("add", "w2", "--kubeconfig", str(worker.kubeconfig), "--to-config", "all"))
    assert found(hub, f"{CONFIGS}/all")["spec"]["clusters"] == ["w1", "w2"]


def test_the_hub_may_see_the_worker_under_another_address(
    turnstile: Turnstile, hub: ApiServer, worker: ApiServer
) -> None:
    succeeded(add(turnstile, worker, "--server", "https://worker.example:6443"))
    document = yaml.safe_load(base64.b64decode(found(hub, f"{SECRETS}/w1")["data"]["kubeconfig"]))
    assert document["clusters"][0]["cluster"]["server"] == "https://worker.example:6443"


@pytest.mark.parametrize(
    ("path", "document", "kind"),
    [
        (
            SECRETS,
            {"metadata": {"name": "w1"}, "data": {"kubeconfig": "dXNlcnM6IFt7dXNlcjoge3Rva2VuOiB4eX19XQ=="}},
            "Secret",
        ),
        (
            CLUSTERS,
            {
                "apiVersion": "kueue.x-k8s.io/v1beta2",
                "kind": "MultiKueueCluster",
                "metadata": {"name": "w1"},
                "spec": {"clusterSource": {"kubeConfig": {"locationType": "Path", "location": "/x"}}},
            },
            "MultiKueueCluster",
        ),
    ],
    ids=["secret", "cluster"],
)
def test_objects_of_others_are_not_overwritten(
    turnstile: Turnstile, hub: ApiServer, worker: ApiServer, path: str, document: dict[str, Any], kind: str
) -> None:
    assert hub.call("POST", path, document)[0] == 201
    before = found(hub, f"{path}/w1")
    assert refused(add(turnstile, worker)) == (
        f"error: hub has a {kind} w1 that `turnstile worker` did not create; delete it, or choose another name"
    )
    refused(turnstile("remove", "w1"))
    assert found(hub, f"{path}/w1") == before
    assert is_gone(worker, ROLE), "nothing was done on the worker either"


def test_rotation_gives_the_hub_another_token(
    turnstile: Turnstile, hub: ApiServer, worker: ApiServer, kubectl: Kubectl, tmp_path: Path
) -> None:
    succeeded(add(turnstile, worker))
    old = token_of(found(hub, f"{SECRETS}/w1"))
    succeeded(turnstile("rotate", "w1", "--kubeconfig", str(worker.kubeconfig), "--valid-for", "24h"))
    new = token_of(found(hub, f"{SECRETS}/w1"))
    assert new != old
    for token in (old, new):
        assert may(kubectl, worker, token, tmp_path, "list", "workloads.kueue.x-k8s.io", "-A") == "yes"


def test_revocation_ends_the_old_token(
    turnstile: Turnstile, hub: ApiServer, worker: ApiServer, kubectl: Kubectl, tmp_path: Path
) -> None:
    succeeded(add(turnstile, worker))
    old = token_of(found(hub, f"{SECRETS}/w1"))
    succeeded(turnstile("rotate", "w1", "--kubeconfig", str(worker.kubeconfig), "--revoke"))
    assert may(kubectl, worker, old, tmp_path, "list", "workloads.kueue.x-k8s.io", "-A") != "yes"
    new = token_of(found(hub, f"{SECRETS}/w1"))
    assert may(kubectl, worker, new, tmp_path, "list", "workloads.kueue.x-k8s.io", "-A") == "yes"


def test_rotating_what_was_never_added_is_refused(turnstile: Turnstile, hub: ApiServer, worker: ApiServer) -> None:
    said = refused(turnstile("rotate", "w1", "--kubeconfig", str(worker.kubeconfig)), 2)
    assert said == "error: the hub has no Secret turnstile-system/w1; create it with `turnstile worker add w1`"


def test_a_worker_in_use_is_not_removed(turnstile: Turnstile, hub: ApiServer, worker: ApiServer) -> None:
    succeeded(add(turnstile, worker, "--to-config", "all"))
    said = refused(turnstile("remove", "w1"))
    assert said == "error: MultiKueueConfig all names w1; remove it from its spec.clusters first"
    found(hub, f"{CLUSTERS}/w1")


def test_removal_takes_everything_away(turnstile: Turnstile, hub: ApiServer, worker: ApiServer) -> None:
    succeeded(add(turnstile, worker))
    succeeded(turnstile("remove", "w1", "--kubeconfig", str(worker.kubeconfig)))
    assert all(is_gone(worker, path) for path in (ROLE, FORECASTS_ROLE, *bindings(hub), account(hub)))
    assert all(is_gone(hub, path) for path in (f"{CLUSTERS}/w1", f"{SECRETS}/w1"))
    found(worker, "/api/v1/namespaces/turnstile-system")
    assert "the hub has no worker w1" in refused(turnstile("remove", "w1"), 2)


def test_the_list_shows_workers_and_no_secret(turnstile: Turnstile, hub: ApiServer, worker: ApiServer) -> None:
    succeeded(add(turnstile, worker, "--to-config", "all"))
    condition = {
        "type": "Active",
        "status": "False",
        "reason": "ClientConnectionFailed",
        "message": "m",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    stored = found(hub, f"{CLUSTERS}/w1")
    assert hub.call("PUT", f"{CLUSTERS}/w1/status", {**stored, "status": {"conditions": [condition]}})[0] == 200
    header, row = succeeded(turnstile("list"))
    assert header.split("  ")[0] == "NAME"
    until = found(hub, f"{SECRETS}/w1")["metadata"]["annotations"]["multikueue-turnstile.dev/token-expires"]
    assert row.split() == ["w1", "Secret", "w1", "no:", "ClientConnectionFailed", until, "all"]


def test_missing_permissions_are_named(turnstile: Turnstile, hub: ApiServer, worker: ApiServer, tmp_path: Path) -> None:
    powerless = kubeconfigs.write(tmp_path / "p", url=worker.url, ca_file=worker.ca_file, token=worker.powerless_token)
    said = refused(turnstile("add", "w1", "--kubeconfig", str(powerless)), code=3)
    assert 'User "powerless" cannot get resource "namespaces"' in said
    assert "cluster w1" in said


def test_rotation_needs_only_a_token_of_the_worker(
    turnstile: Turnstile, hub: ApiServer, worker: ApiServer, tmp_path: Path
) -> None:
    """Rotation needs no administrator of the worker: one verb on one object is enough."""
    succeeded(add(turnstile, worker))
    rules = [
        {
            "apiGroups": [""],
            "resources": ["serviceaccounts/token"],
            "resourceNames": [account_name(hub)],
            "verbs": ["create"],
        }
    ]
    space = "/apis/rbac.authorization.k8s.io/v1/namespaces/turnstile-system"
    role_ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "rotator"}
    subjects = [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "powerless"}]
    assert worker.call("POST", f"{space}/roles", {"metadata": {"name": "rotator"}, "rules": rules})[0] == 201
    binding = {"metadata": {"name": "rotator"}, "roleRef": role_ref, "subjects": subjects}
    assert worker.call("POST", f"{space}/rolebindings", binding)[0] == 201
    rotator = kubeconfigs.write(tmp_path / "r", url=worker.url, ca_file=worker.ca_file, token=worker.powerless_token)
    try:
        succeeded(turnstile("rotate", "w1", "--kubeconfig", str(rotator)))
    finally:
        worker.call("DELETE", f"{space}/rolebindings/rotator")
        worker.call("DELETE", f"{space}/roles/rotator")


def test_the_hub_itself_is_refused(turnstile: Turnstile, hub: ApiServer) -> None:
    said = refused(turnstile("add", "self", "--kubeconfig", str(hub.kubeconfig)), 2)
    assert said.startswith(f"error: self {IS_HUB}; ")
    assert is_gone(hub, f"{SECRETS}/self")


def test_a_hub_without_the_namespace_is_told_even_in_a_rehearsal(turnstile: Turnstile, worker: ApiServer) -> None:
    said = refused(add(turnstile, worker, "--namespace", "nowhere", "--dry-run"))
    assert said.startswith("error: the hub has no namespace nowhere, ")


def test_the_shipped_cron_job_rotates_with_the_roles_that_come_with_it(
    turnstile: Turnstile, hub: ApiServer, worker: ApiServer, kubectl: Kubectl, tmp_path: Path
) -> None:
    succeeded(turnstile("add", "worker-1", "--worker-kubeconfig", str(worker.kubeconfig)))
    old = found(hub, f"{SECRETS}/worker-1")
    suffix = account_name(hub).removeprefix("turnstile-")
    there = (ROTATE / "worker.yaml").read_text().replace("HUB", suffix)
    assert kubectl.run("--kubeconfig", str(worker.kubeconfig), "apply", "-f", "-", given=there).returncode == 0
    assert kubectl.run("apply", "-f", str(ROTATE / "hub.yaml")).returncode == 0
    (tmp_path / "workers").mkdir()
    (tmp_path / "workers" / "worker-1").write_bytes(base64.b64decode(old["data"]["kubeconfig"]))
    token = kubectl.run("-n", "turnstile-system", "create", "token", "turnstile-rotate").stdout.strip()
    as_rotator = kubeconfigs.write(tmp_path / "hub", url=hub.url, ca_file=hub.ca_file, token=token)
    cron_job = only(parsed((ROTATE / "hub.yaml").read_text()), "CronJob")
    (container,) = cron_job["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    environment = {
        "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
        "HOME": str(tmp_path),
        "KUBECONFIG": str(as_rotator),
        "KUBECONFIGS": str(tmp_path / "workers"),
    }
    done = subprocess.run(
        [*container["command"], *container["args"]], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert token_of(found(hub, f"{SECRETS}/worker-1")) != token_of(old)
    kubectl.run("delete", "-f", str(ROTATE / "hub.yaml"))
    kubectl.run("--kubeconfig", str(worker.kubeconfig), "delete", "-f", "-", given=there)


WRONG = {
    "a name in capitals": (("add", "W1", "--kubeconfig", "/x"), "a DNS-1123 name"),
    "a token for a minute": (("add", "w1", "--kubeconfig", "/x", "--valid-for", "1m"), "at least 10m"),
    "a validity that is not a duration": (
        ("add", "w1", "--kubeconfig", "/x", "--valid-for", "soon"),
        "a duration of at least",
    ),
    "an address without TLS": (("add", "w1", "--kubeconfig", "/x", "--server", "http://w"), "an https address"),
    "a configuration's name": (("add", "w1", "--kubeconfig", "/x", "--to-config", "A b"), "a DNS-1123 name"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_arguments_are_refused_by_name(turnstile: Turnstile, case: str) -> None:
    arguments, said = WRONG[case]
    done = turnstile(*arguments)
    assert done.returncode == 2
    assert said in " ".join(done.stderr.split())


def test_a_kubeconfig_that_cannot_be_read_is_named(turnstile: Turnstile, tmp_path: Path) -> None:
    said = refused(turnstile("add", "w1", "--worker-kubeconfig", str(tmp_path / "none")), code=2)
    assert said.startswith("error: --worker-kubeconfig: ")


def test_the_roles_that_are_installed_are_the_shipped_ones() -> None:
    shipped = Path(__file__).resolve().parents[2] / "deploy" / "rbac"
    ours = [document["rules"] for kind, document in worker_objects("0") if kind.kind == "ClusterRole"]
    theirs = [
        document["rules"]
        for name in ("worker.yaml", "worker-forecasts.yaml", "worker-kueue.yaml")
        for document in yaml.safe_load_all((shipped / name).read_text())
        if document["kind"] == "ClusterRole"
    ]
    assert json.dumps(ours) == json.dumps(theirs)
