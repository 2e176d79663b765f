"""Every manifest under deploy/ is one that a real kube-apiserver takes, and says what it should."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from config.loading.loading import load_configuration
from tests.deploy.kubectl import Kubectl, Manifest, kustomized, of_kind, only, parsed
from tests.realbed.apiserver import ApiServer

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
KUSTOMIZATIONS = ("base", "overlays/ha", "overlays/metrics", "overlays/shadow")
RBAC = DEPLOY / "rbac"
ROLES = sorted(str(path.relative_to(RBAC)) for path in RBAC.rglob("*.yaml") if path.name != "kustomization.yaml")
SAMPLES = sorted(path.name for path in (DEPLOY / "samples").glob("*.yaml"))
READING = {"get", "list", "watch"}

Built = Callable[[str], list[Manifest]]


@pytest.fixture(scope="module")
def built(kubectl_program: str) -> Built:
    """Return a function from the name of a kustomization to its manifests."""

    def build(name: str) -> list[Manifest]:
        return kustomized(kubectl_program, name)

    return build


@pytest.mark.parametrize("name", KUSTOMIZATIONS)
def test_the_server_takes_a_kustomization(built: Built, kubectl: Kubectl, name: str) -> None:
    assert kubectl.complaints(built(name)) == ""


def with_components(kubectl_program: str, directory: Path, *names: str) -> list[Manifest]:
    """Build the base with components, as an overlay of a user does."""
    here = {"resources": ["base"], "components": [f"components/{name}" for name in names]}
    found = {
        key: [os.path.relpath(DEPLOY / "kustomize" / each, directory) for each in each_of]
        for key, each_of in here.items()
    }
    (directory / "kustomization.yaml").write_text(yaml.safe_dump(found))
    done = subprocess.run([kubectl_program, "kustomize", directory], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return parsed(done.stdout)


def test_a_hub_before_policies_gets_none(kubectl_program: str, tmp_path: Path) -> None:
    built = with_components(kubectl_program, tmp_path, "without-managed-by-policy")
    assert not {each["kind"] for each in built if each["kind"].startswith("MutatingAdmissionPolicy")}
    assert only(built, "Deployment")


def test_openshift_chooses_the_user(kubectl_program: str, tmp_path: Path) -> None:
    pod = only(with_components(kubectl_program, tmp_path, "openshift"), "Deployment")["spec"]["template"]["spec"]
    assert pod["securityContext"] == {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}


def test_switching_overlays_leaves_no_rights_behind_and_uninstalling_keeps_the_kubeconfigs(
    kubectl: Kubectl, hub: ApiServer
) -> None:
    secrets = "/api/v1/namespaces/turnstile-system/secrets"
    assert hub.call("POST", secrets, {"metadata": {"name": "worker-9"}})[0] == 201
    overlays = DEPLOY / "kustomize" / "overlays"

    def names(kind: str) -> set[str]:
        listed = kubectl.run("get", kind, "-l", "app.kubernetes.io/part-of=multikueue-turnstile", "-A", "-o", "name")
        return {line.partition("/")[2] for line in listed.stdout.split()}

    try:
        for overlay, rights, policies in (
            ("metrics", {"turnstile-hub", "turnstile-endpoint-authorization"}, {"turnstile-managed-by"}),
            ("ha", {"turnstile-hub"}, {"turnstile-managed-by"}),
            ("shadow", {"turnstile-shadow"}, set()),
        ):
            applied = kubectl.script(DEPLOY / "kustomize" / "apply.sh", overlays / overlay)
            assert applied.returncode == 0, applied.stderr
            assert names("clusterrolebindings") == rights, overlay
            assert names("mutatingadmissionpolicies") == policies, overlay
            assert len(names("configmaps")) == 1, overlay
        deleted = kubectl.run("delete", "-k", str(overlays / "shadow"))
        assert deleted.returncode == 0, deleted.stderr
        assert names("clusterroles") == names("deployments") == set()
        assert hub.call("GET", f"{secrets}/worker-9")[0] == 200
    finally:
        hub.call("DELETE", f"{secrets}/worker-9")


def test_the_server_takes_the_service_monitor(kubectl: Kubectl, kubectl_program: str, tmp_path: Path) -> None:
    overlay = DEPLOY / "kustomize" / "overlays" / "ha"
    components = [DEPLOY / "kustomize" / "components" / name for name in ("metrics", "servicemonitor")]
    (tmp_path / "kustomization.yaml").write_text(
        yaml.safe_dump(
            {
                "resources": [os.path.relpath(overlay, tmp_path)],
                "components": [os.path.relpath(component, tmp_path) for component in components],
            },
        )
    )
    done = subprocess.run([kubectl_program, "kustomize", tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    monitor = only(parsed(done.stdout), "ServiceMonitor")
    service = only(parsed(done.stdout), "Service")
    assert kubectl.complaints([monitor]) == ""
    assert monitor["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    assert monitor["spec"]["endpoints"][0]["port"] == service["spec"]["ports"][0]["name"]


def test_the_server_takes_the_alerts_and_the_dashboard(kubectl: Kubectl, kubectl_program: str, tmp_path: Path) -> None:
    components = [os.path.relpath(DEPLOY / name, tmp_path) for name in ("prometheus", "grafana")]
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump({"components": components}))
    done = subprocess.run([kubectl_program, "kustomize", tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    manifests = parsed(done.stdout)
    assert kubectl.complaints(manifests) == ""
    assert only(manifests, "PrometheusRule")["spec"] == yaml.safe_load(
        (DEPLOY / "prometheus" / "rules.yaml").read_text()
    ), "`make docs` makes it of rules.yaml"
    assert only(manifests, "ConfigMap")["data"]["turnstile.json"] == (DEPLOY / "grafana/turnstile.json").read_text()


@pytest.mark.parametrize("name", ROLES)
def test_the_server_takes_a_file_of_roles(kubectl: Kubectl, name: str) -> None:
    assert kubectl.complaints(parsed((DEPLOY / "rbac" / name).read_text())) == ""


@pytest.mark.parametrize("name", SAMPLES)
def test_the_server_takes_a_sample(kubectl: Kubectl, name: str) -> None:
    manifests = parsed((DEPLOY / "samples" / name).read_text())
    for manifest in manifests:
        generated = manifest["metadata"].pop("generateName", None)  # server-side apply wants a name
        if generated is not None:
            manifest["metadata"]["name"] = f"{generated}1"
    assert kubectl.complaints(manifests) == ""


def test_a_wrong_field_is_found_out(built: Built, kubectl: Kubectl) -> None:
    deployment = only(built("base"), "Deployment")
    deployment["spec"]["template"]["spec"]["containers"][0]["imagine"] = "no"
    assert ".imagine: field not declared in schema" in kubectl.complaints([deployment])


@pytest.mark.parametrize("name", KUSTOMIZATIONS)
def test_its_pods_hold_to_the_restricted_profile(built: Built, kubectl: Kubectl, name: str) -> None:
    """The server enforces the profile on pods in that namespace, so a pod made by hand is the judge."""
    template = only(built(name), "Deployment")["spec"]["template"]
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "pod", "namespace": "turnstile-system", **template["metadata"]},
        "spec": template["spec"],
    }
    assert kubectl.complaints([pod]) == ""
    pod["spec"]["containers"][0]["securityContext"]["capabilities"] = {}
    assert "unrestricted capabilities" in kubectl.complaints([pod])


@pytest.mark.parametrize("name", KUSTOMIZATIONS)
def test_the_mounted_configuration_is_valid(built: Built, tmp_path: Path, name: str) -> None:
    manifests = built(name)
    deployment, configuration = only(manifests, "Deployment"), only(manifests, "ConfigMap")
    pod = deployment["spec"]["template"]["spec"]
    (volume,) = (each for each in pod["volumes"] if "configMap" in each)
    assert volume["configMap"]["name"] == configuration["metadata"]["name"]
    (mount,) = (each for each in pod["containers"][0]["volumeMounts"] if each["name"] == volume["name"])
    arguments = pod["containers"][0]["args"]
    path = Path(arguments[arguments.index("--config") + 1])
    assert str(path.parent) == mount["mountPath"]
    (tmp_path / path.name).write_text(configuration["data"][path.name])
    loaded = load_configuration(tmp_path / path.name, {}).configuration
    assert loaded.hub.namespace == deployment["metadata"]["namespace"]
    ports = {port["name"]: port["containerPort"] for port in pod["containers"][0]["ports"]}
    assert ports["probes"] == loaded.http.probe_port
    assert ports.get("https") == (loaded.http.port if loaded.http.is_exposed else None)
    writable = [mount["mountPath"] for mount in pod["containers"][0]["volumeMounts"] if not mount.get("readOnly")]
    assert str(loaded.journal.path and loaded.journal.path.parent) in writable
    assert str(loaded.api.socket and loaded.api.socket.parent) in writable


@pytest.mark.parametrize("name", KUSTOMIZATIONS)
def test_the_command_of_its_pods_is_one_that_turnstile_knows(built: Built, name: str) -> None:
    command, *options = only(built(name), "Deployment")["spec"]["template"]["spec"]["containers"][0]["args"]
    asked = [sys.executable, "-P", "-m", "manager", command, "--help"]
    known = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    assert [option for option in options if option.startswith("--") and option not in known] == []


def test_several_instances_are_spread_and_not_drained_at_once(built: Built) -> None:
    manifests = built("overlays/ha")
    deployment, budget = only(manifests, "Deployment"), only(manifests, "PodDisruptionBudget")
    assert deployment["spec"]["replicas"] > budget["spec"]["maxUnavailable"]
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert budget["spec"]["selector"]["matchLabels"].items() <= labels.items()
    (apart,) = deployment["spec"]["template"]["spec"]["affinity"]["podAntiAffinity"][
        "requiredDuringSchedulingIgnoredDuringExecution"
    ]
    assert apart["topologyKey"] == "kubernetes.io/hostname"
    assert apart["labelSelector"]["matchLabels"].items() <= labels.items()


def test_shadow_mode_may_write_nothing_but_its_lease(built: Built) -> None:
    manifests = built("overlays/shadow")
    rules = [rule for role in of_kind(manifests, "ClusterRole") + of_kind(manifests, "Role") for rule in role["rules"]]
    writing = [rule for rule in rules if not set(rule["verbs"]) <= READING]
    assert {resource for rule in writing for resource in rule["resources"]} == {"leases"}
    (named,) = [rule for rule in writing if "create" not in rule["verbs"]]
    assert named["resourceNames"] == ["turnstile-shadow"]
    assert of_kind(manifests, "MutatingAdmissionPolicy") == []
    bound = {
        each["roleRef"]["name"] for kind in ("RoleBinding", "ClusterRoleBinding") for each in of_kind(manifests, kind)
    }
    assert bound == {role["metadata"]["name"] for kind in ("Role", "ClusterRole") for role in of_kind(manifests, kind)}
