"""`turnstile worker` on a real kube-apiserver, which is hub and worker at once: it alone can make real tokens."""

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
from manager.onboarding.objects import account_of, worker_objects
from tests.deploy.kubectl import Kubectl
from tests.realbed import kubeconfig as kubeconfigs
from tests.realbed.apiserver import ApiServer

CLUSTERS = "/apis/kueue.x-k8s.io/v1beta2/multikueueclusters"
CONFIGS = "/apis/kueue.x-k8s.io/v1beta2/multikueueconfigs"
SECRETS = "/api/v1/namespaces/turnstile-system/secrets"
ACCOUNTS = "/api/v1/namespaces/turnstile-system/serviceaccounts"
ROLE = "/apis/rbac.authorization.k8s.io/v1/clusterroles/turnstile-worker"
BINDINGS = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
FORECASTS_ROLE = f"{ROLE}-forecasts"

Done = subprocess.CompletedProcess[str]
Turnstile = Callable[..., Done]


@pytest.fixture
def turnstile(hub: ApiServer, tmp_path: Path) -> Iterator[Turnstile]:
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
    assert not any(secret in everything for secret in (*secrets, hub.admin_token))
    for listed in (CLUSTERS, CONFIGS, SECRETS):
        hub.call("DELETE", listed)
    for path in (account(hub), ROLE, FORECASTS_ROLE, *bindings(hub)):
        hub.call("DELETE", path)


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


def may(kubectl: Kubectl, hub: ApiServer, token: str, directory: Path, *question: str) -> str:
    """Ask the server what the holder of a token may do."""
    own = kubeconfigs.write(directory / "own", url=hub.url, ca_file=hub.ca_file, token=token)
    return kubectl.run("--kubeconfig", str(own), "auth", "can-i", *question).stdout.strip()


def add(turnstile: Turnstile, hub: ApiServer, *more: str) -> Done:
    return turnstile("add", "w1", "--kubeconfig", str(hub.kubeconfig), *more)


def test_a_worker_is_added_with_its_shipped_roles_and_no_more(
    turnstile: Turnstile, hub: ApiServer, kubectl: Kubectl, tmp_path: Path
) -> None:
    succeeded(add(turnstile, hub, "--to-config", "all"))
    assert found(hub, f"{CLUSTERS}/w1")["spec"] == {
        "clusterSource": {"kubeConfig": {"locationType": "Secret", "location": "w1"}}
    }
    assert found(hub, f"{CONFIGS}/all")["spec"]["clusters"] == ["w1"]
    secret = found(hub, f"{SECRETS}/w1")
    access = parse_kubeconfig(base64.b64decode(secret["data"]["kubeconfig"]), KubeconfigPolicy())
    assert access.server == hub.url
    assert access.token is not None
    assert may(kubectl, hub, access.token, tmp_path, "create", "workloads.kueue.x-k8s.io", "-A") == "yes"
    assert may(kubectl, hub, access.token, tmp_path, "patch", "workloads.kueue.x-k8s.io/status", "-A") == "yes"
    for kind in ("cohorts.kueue.x-k8s.io", "limitranges", "runtimeclasses.node.k8s.io"):
        assert may(kubectl, hub, access.token, tmp_path, "watch", kind, "-A") == "yes", "forecasts are on by default"
    for question in (("get", "secrets"), ("create", "pods"), ("delete", "clusterqueues.kueue.x-k8s.io")):
        assert may(kubectl, hub, access.token, tmp_path, *question, "-A") == "no", question


def test_with_pod_forecasts_it_may_read_what_they_are_made_of_until_it_is_removed(
    turnstile: Turnstile, hub: ApiServer, kubectl: Kubectl, tmp_path: Path
) -> None:
    succeeded(add(turnstile, hub, "--pod-forecast"))
    token = token_of(found(hub, f"{SECRETS}/w1"))
    for resource in ("nodes", "pods", "poddisruptionbudgets.policy", "clusterqueues.kueue.x-k8s.io"):
        assert may(kubectl, hub, token, tmp_path, "watch", resource, "-A") == "yes", resource
        assert may(kubectl, hub, token, tmp_path, "delete", resource, "-A") == "no", resource
    succeeded(turnstile("remove", "w1", "--kubeconfig", str(hub.kubeconfig)))
    assert is_gone(hub, f"{ROLE}-pod-forecasts")
    assert is_gone(hub, f"{ROLE}-forecasts")


def test_doing_it_again_changes_nothing(turnstile: Turnstile, hub: ApiServer) -> None:
    succeeded(add(turnstile, hub, "--to-config", "all"))
    paths = (ROLE, bindings(hub)[0], f"{SECRETS}/w1", account(hub))
    before = [found(hub, path)["metadata"]["resourceVersion"] for path in paths]
    lines = succeeded(add(turnstile, hub, "--to-config", "all"))
    assert not any(word in line for line in lines for word in ("created", "updated", "requested"))
    assert before == [found(hub, path)["metadata"]["resourceVersion"] for path in paths]


def test_an_older_role_of_ours_is_brought_up_to_date(turnstile: Turnstile, hub: ApiServer) -> None:
    succeeded(add(turnstile, hub))
    shipped = found(hub, ROLE)
    hub.call("PUT", ROLE, {**shipped, "rules": shipped["rules"][:1]})
    assert any(line.endswith("updated ClusterRole turnstile-worker") for line in succeeded(add(turnstile, hub)))
    assert found(hub, ROLE)["rules"] == shipped["rules"]


def test_a_role_that_an_administrator_narrowed_is_kept_and_what_it_lacks_is_told(
    turnstile: Turnstile, hub: ApiServer
) -> None:
    rules = [{"apiGroups": ["kueue.x-k8s.io"], "resources": ["workloads"], "verbs": ["get", "list", "watch"]}]
    hub.call("POST", ROLE.rsplit("/", 1)[0], {"metadata": {"name": "turnstile-worker"}, "rules": rules})
    lines = succeeded(add(turnstile, hub))
    assert "w1: ClusterRole turnstile-worker is not the shipped one; unchanged, see --adopt" in lines
    assert any(line.startswith("warning: worker w1 does not allow in all namespaces: create, delete") for line in lines)
    assert found(hub, ROLE)["rules"] == rules


def test_a_rehearsal_writes_nothing(turnstile: Turnstile, hub: ApiServer) -> None:
    lines = succeeded(add(turnstile, hub, "--to-config", "all", "--dry-run"))
    assert "w1: would create ClusterRole turnstile-worker" in lines
    assert "hub: would write Secret turnstile-system/w1" in lines
    assert all(is_gone(hub, path) for path in (ROLE, *bindings(hub), account(hub), f"{CLUSTERS}/w1", f"{CONFIGS}/all"))


def test_a_second_worker_joins_the_configuration(turnstile: Turnstile, hub: ApiServer) -> None:
    succeeded(add(turnstile, hub, "--to-config", "all"))
    succeeded(turnstile("add", "w2", "--kubeconfig", str(hub.kubeconfig), "--to-config", "all"))
    assert found(hub, f"{CONFIGS}/all")["spec"]["clusters"] == ["w1", "w2"]


def test_the_hub_may_see_the_worker_under_another_address(turnstile: Turnstile, hub: ApiServer) -> None:
    succeeded(add(turnstile, hub, "--server", "https://worker.example:6443"))
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
    turnstile: Turnstile, hub: ApiServer, path: str, document: dict[str, Any], kind: str
) -> None:
    assert hub.call("POST", path, document)[0] == 201
    before = found(hub, f"{path}/w1")
    assert refused(add(turnstile, hub)) == (
        f"error: hub has a {kind} w1 that `turnstile worker` did not create; delete it, or choose another name"
    )
    refused(turnstile("remove", "w1"))
    assert found(hub, f"{path}/w1") == before
    assert is_gone(hub, ROLE), "nothing was done on the worker either"


def test_rotation_gives_the_hub_another_token(
    turnstile: Turnstile, hub: ApiServer, kubectl: Kubectl, tmp_path: Path
) -> None:
    succeeded(add(turnstile, hub))
    old = token_of(found(hub, f"{SECRETS}/w1"))
    succeeded(turnstile("rotate", "w1", "--kubeconfig", str(hub.kubeconfig), "--valid-for", "24h"))
    new = token_of(found(hub, f"{SECRETS}/w1"))
    assert new != old
    for token in (old, new):
        assert may(kubectl, hub, token, tmp_path, "list", "workloads.kueue.x-k8s.io", "-A") == "yes"


def test_revocation_ends_the_old_token(turnstile: Turnstile, hub: ApiServer, kubectl: Kubectl, tmp_path: Path) -> None:
    succeeded(add(turnstile, hub))
    old = token_of(found(hub, f"{SECRETS}/w1"))
    succeeded(turnstile("rotate", "w1", "--kubeconfig", str(hub.kubeconfig), "--revoke"))
    assert may(kubectl, hub, old, tmp_path, "list", "workloads.kueue.x-k8s.io", "-A") != "yes"
    new = token_of(found(hub, f"{SECRETS}/w1"))
    assert may(kubectl, hub, new, tmp_path, "list", "workloads.kueue.x-k8s.io", "-A") == "yes"


def test_rotating_what_was_never_added_is_refused(turnstile: Turnstile, hub: ApiServer) -> None:
    said = refused(turnstile("rotate", "w1", "--kubeconfig", str(hub.kubeconfig)))
    assert said == "error: the hub has no Secret turnstile-system/w1; create it with `turnstile worker add w1`"


def test_a_worker_in_use_is_not_removed(turnstile: Turnstile, hub: ApiServer) -> None:
    succeeded(add(turnstile, hub, "--to-config", "all"))
    said = refused(turnstile("remove", "w1"))
    assert said == "error: MultiKueueConfig all names w1; remove it from its spec.clusters first"
    found(hub, f"{CLUSTERS}/w1")


def test_removal_takes_everything_away(turnstile: Turnstile, hub: ApiServer) -> None:
    succeeded(add(turnstile, hub))
    succeeded(turnstile("remove", "w1", "--kubeconfig", str(hub.kubeconfig)))
    roles = (ROLE, FORECASTS_ROLE, *bindings(hub))
    assert all(is_gone(hub, path) for path in (f"{CLUSTERS}/w1", f"{SECRETS}/w1", account(hub), *roles))
    found(hub, "/api/v1/namespaces/turnstile-system")
    assert "hub: MultiKueueCluster w1 is not there" in succeeded(turnstile("remove", "w1"))


def test_the_list_shows_workers_and_no_secret(turnstile: Turnstile, hub: ApiServer) -> None:
    succeeded(add(turnstile, hub, "--to-config", "all"))
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


def test_missing_permissions_are_named(turnstile: Turnstile, hub: ApiServer, tmp_path: Path) -> None:
    powerless = kubeconfigs.write(tmp_path / "p", url=hub.url, ca_file=hub.ca_file, token=hub.powerless_token)
    said = refused(turnstile("add", "w1", "--kubeconfig", str(powerless)), code=3)
    assert 'User "powerless" cannot get resource "namespaces"' in said
    assert "cluster w1" in said


def test_rotation_needs_only_a_token_of_the_worker(turnstile: Turnstile, hub: ApiServer, tmp_path: Path) -> None:
    """Rotation needs no administrator of the worker: one verb on one object is enough."""
    succeeded(add(turnstile, hub))
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
    assert hub.call("POST", f"{space}/roles", {"metadata": {"name": "rotator"}, "rules": rules})[0] == 201
    binding = {"metadata": {"name": "rotator"}, "roleRef": role_ref, "subjects": subjects}
    assert hub.call("POST", f"{space}/rolebindings", binding)[0] == 201
    rotator = kubeconfigs.write(tmp_path / "r", url=hub.url, ca_file=hub.ca_file, token=hub.powerless_token)
    try:
        succeeded(turnstile("rotate", "w1", "--kubeconfig", str(rotator)))
    finally:
        hub.call("DELETE", f"{space}/rolebindings/rotator")
        hub.call("DELETE", f"{space}/roles/rotator")


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
    said = refused(turnstile("add", "w1", "--kubeconfig", str(tmp_path / "none")), code=2)
    assert said.startswith("error: --kubeconfig: ")


def test_the_roles_that_are_installed_are_the_shipped_ones() -> None:
    shipped = Path(__file__).resolve().parents[2] / "deploy" / "rbac"
    ours = [document["rules"] for kind, document in worker_objects("0") if kind.kind == "ClusterRole"]
    theirs = [
        document["rules"]
        for name in ("worker.yaml", "worker-forecasts.yaml")
        for document in yaml.safe_load_all((shipped / name).read_text())
        if document["kind"] == "ClusterRole"
    ]
    assert json.dumps(ours) == json.dumps(theirs)
