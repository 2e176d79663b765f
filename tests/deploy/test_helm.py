"""The chart: it lints, its values are checked, and what it renders is what the kustomizations say."""

import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from config.loading.loading import load_configuration
from config.sections.sections import KubeconfigPolicy
from tests.deploy.kubectl import Kubectl, Manifest, kustomized, of_kind, only, parsed
from tests.realbed.apiserver import ApiServer

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
CHART = DEPLOY / "helm" / "turnstile"
ALL_ON: Manifest = {
    "replicas": 3,
    "image": {"digest": f"sha256:{'0' * 64}"},
    "imagePullSecrets": [{"name": "registry"}],
    "rbac": {"costController": {"enabled": True, "copyToWorkloads": True, "priorityBoost": True, "events": True}},
    "managedByPolicy": {"queueNames": ["research", "render"]},
    "metrics": {"enabled": True, "tlsSecret": "turnstile-tls"},
    "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
    "prometheusRule": {
        "enabled": True,
        "labels": {"release": "prometheus"},
        "runbookUrl": "https://runbooks.example/t",
    },
    "dashboard": {"enabled": True},
    "networkPolicy": {"apiServerCidrs": ["10.0.0.0/8", "fd00::/8"]},
    "serviceAccount": {"annotations": {"example.com/role": "x"}},
    "podAnnotations": {"example.com/a": "b"},
    "podLabels": {"example.com/c": "d"},
    "nodeSelector": {"kubernetes.io/os": "linux"},
    "tolerations": [{"key": "control-plane", "operator": "Exists"}],
    "priorityClassName": "system-cluster-critical",
    "affinity": {"nodeAffinity": {}},
    "topologySpreadConstraints": [
        {"topologyKey": "topology.kubernetes.io/zone", "maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway"}
    ],
    "extraEnv": [{"name": "HTTPS_PROXY", "value": "http://proxy.example:3128"}],
    "extraVolumes": [{"name": "authorities", "configMap": {"name": "company-ca"}}],
    "extraVolumeMounts": [{"name": "authorities", "mountPath": "/etc/company", "readOnly": True}],
    "workerKubeconfigs": [{"worker": "worker-1", "secretName": "worker-1-kubeconfig", "key": "value"}],
    "execPlugins": [{"name": "login", "image": "registry.example/login:1", "path": "/usr/bin/login"}],
    "configuration": {"hub": {"origin": "hub-eu"}, "logging": {"level": "debug"}},
}
ALL_OFF: Manifest = {
    "serviceAccount": {"create": False, "name": "mine"},
    "rbac": {"create": False},
    "managedByPolicy": {"enabled": False},
    "networkPolicy": {"enabled": False},
}
VARIANTS: dict[str, Manifest] = {
    "as shipped": {},
    "everything on": ALL_ON,
    "everything off": ALL_OFF,
    "in shadow mode": {"shadow": True},
    "with a volume for the journal": {"persistence": {"enabled": True, "storageClassName": "fast", "size": "2Gi"}},
    "on OpenShift": {"podSecurityContext": {"runAsUser": None, "runAsGroup": None, "fsGroup": None}},
}

Helm = Callable[..., subprocess.CompletedProcess[str]]
Render = Callable[..., list[Manifest]]


@pytest.fixture(scope="module")
def helm(helm_program: Path, tmp_path_factory: pytest.TempPathFactory) -> Helm:
    home = str(tmp_path_factory.mktemp("helm"))

    def run(*arguments: str | Path, values: Manifest | None = None) -> subprocess.CompletedProcess[str]:
        given = ["--values", "-"] if values is not None else []
        return subprocess.run(
            [helm_program, *arguments, *given],
            input=yaml.safe_dump(values or {}),
            capture_output=True,
            text=True,
            check=False,
            env={"PATH": os.environ.get("PATH", ""), "HOME": home},
        )

    return run


@pytest.fixture(scope="module")
def package(helm: Helm, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the packed chart: unlike the tree, it has no links."""
    folder = tmp_path_factory.mktemp("package")
    done = helm("package", CHART, "--destination", folder)
    assert done.returncode == 0, done.stderr
    (packed,) = folder.glob("turnstile-*.tgz")
    return packed


@pytest.fixture(scope="module")
def render(helm: Helm, package: Path) -> Render:
    def template(values: Manifest, *, release: str = "turnstile") -> list[Manifest]:
        flags = ("--namespace", "turnstile-system", "--kube-version", "1.36.3")
        done = helm("template", release, package, *flags, values=values)
        assert (done.returncode, done.stderr) == (0, "")
        return parsed(done.stdout)

    return template


def refusal(helm: Helm, package: Path, values: Manifest, *flags: str) -> str:
    done = helm("template", "turnstile", package, *(flags or ("--kube-version", "1.36.3")), values=values)
    assert done.returncode != 0
    return done.stderr


@pytest.mark.parametrize("variant", VARIANTS)
def test_it_lints(helm: Helm, variant: str) -> None:
    done = helm("lint", CHART, "--strict", "--kube-version", "1.36.3", values=VARIANTS[variant])
    assert done.returncode == 0, done.stdout
    assert "[WARNING]" not in done.stdout


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_server_takes_it(render: Render, kubectl: Kubectl, variant: str) -> None:
    assert kubectl.complaints(render(VARIANTS[variant])) == ""


@pytest.mark.parametrize("variant", VARIANTS)
def test_its_configuration_is_valid(render: Render, tmp_path: Path, variant: str) -> None:
    manifests = render(VARIANTS[variant])
    (configuration,) = (each for each in of_kind(manifests, "ConfigMap") if "turnstile.yaml" in each["data"])
    (tmp_path / "turnstile.yaml").write_text(configuration["data"]["turnstile.yaml"])
    loaded = load_configuration(tmp_path / "turnstile.yaml", {}).configuration
    assert loaded.hub.namespace == "turnstile-system"
    assert loaded.hub.origin == VARIANTS[variant].get("configuration", {}).get("hub", {}).get("origin")
    container = only(manifests, "Deployment")["spec"]["template"]["spec"]["containers"][0]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert ports["probes"] == loaded.http.probe_port
    assert ports.get("https") == (loaded.http.port if loaded.http.is_exposed else None)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("base", {}),
        ("overlays/ha", {"replicas": 3}),
        ("overlays/metrics", {"metrics": {"enabled": True, "tlsSecret": "turnstile-tls"}}),
        ("overlays/shadow", {"shadow": True}),
    ],
)
def test_it_says_what_the_kustomization_says(render: Render, kubectl_program: str, name: str, values: Manifest) -> None:
    """Two ways to install must not drift apart: labels and names of generated objects aside, they are the same."""
    expected = {_key(each): _essence(each) for each in kustomized(kubectl_program, name)}
    assert {_key(each): _essence(each) for each in render(values)} == expected


def _key(manifest: Manifest) -> tuple[str, str]:
    name = str(manifest["metadata"]["name"])
    return manifest["kind"], "configuration" if manifest["kind"] == "ConfigMap" else name


def _essence(manifest: Manifest) -> Any:
    """Return a manifest without what only one of the tools writes."""
    if manifest["kind"] == "ConfigMap":
        return yaml.safe_load(manifest["data"]["turnstile.yaml"])
    return _plain({key: value for key, value in manifest.items() if key != "metadata"})


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if not isinstance(value, dict):
        return value
    of_tools = ("app.kubernetes.io/instance", "app.kubernetes.io/part-of", "checksum/configuration", "imagePullPolicy")
    kept = {key: _plain(each) for key, each in value.items() if key not in of_tools}
    if "configMap" in kept:
        kept["configMap"] = "the configuration"
    return {key: each for key, each in kept.items() if key != "annotations" or each}


def test_every_way_to_install_means_the_same_version() -> None:
    version = tomllib.loads((DEPLOY.parent / "pyproject.toml").read_text())["project"]["version"]
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    base = yaml.safe_load((DEPLOY / "kustomize" / "base" / "kustomization.yaml").read_text())
    assert [chart["version"], chart["appVersion"], base["images"][0]["newTag"]] == [version] * 3


def test_another_release_name_is_everywhere(render: Render) -> None:
    manifests = render({}, release="eu")
    assert {each["metadata"]["name"].startswith("eu-turnstile") for each in manifests} == {True}
    for binding in of_kind(manifests, "ClusterRoleBinding") + of_kind(manifests, "RoleBinding"):
        role = binding["kind"].removesuffix("Binding")
        assert binding["roleRef"]["name"] in {each["metadata"]["name"] for each in of_kind(manifests, role)}
        assert binding["subjects"][0]["name"] == only(manifests, "ServiceAccount")["metadata"]["name"]


def test_switched_off_is_not_there(render: Render) -> None:
    manifests = render(ALL_OFF)
    assert {each["kind"] for each in manifests} == {"ConfigMap", "Deployment"}
    assert only(manifests, "Deployment")["spec"]["template"]["spec"]["serviceAccountName"] == "mine"


def test_its_alerts_and_its_dashboard_are_those_of_the_repository(render: Render) -> None:
    manifests = render(ALL_ON)
    shipped = (DEPLOY / "prometheus" / "rules.yaml").read_text()
    moved = shipped.replace("https://multikueue-turnstile.dev/docs/runbook/", "https://runbooks.example/t")
    assert only(manifests, "PrometheusRule")["spec"] == yaml.safe_load(moved)
    (dashboard,) = (each for each in of_kind(manifests, "ConfigMap") if "turnstile.json" in each["data"])
    assert dashboard["data"]["turnstile.json"].strip() == (DEPLOY / "grafana" / "turnstile.json").read_text().strip()


def test_named_queues_are_selected(render: Render) -> None:
    selector = only(render(ALL_ON), "MutatingAdmissionPolicyBinding")["spec"]["matchResources"]["objectSelector"]
    assert selector["matchExpressions"][0] == {
        "key": "kueue.x-k8s.io/queue-name",
        "operator": "In",
        "values": ["research", "render"],
    }


WRONG: dict[str, tuple[Manifest, str]] = {
    "an unknown value": ({"replica": 2}, "replica"),
    "no instance": ({"replicas": 0}, "replicas"),
    "a string for a number": ({"replicas": "2"}, "replicas"),
    "an invalid digest": ({"image": {"digest": "sha256:abc"}}, "digest"),
    "an invalid port": ({"configuration": {"http": {"port": 70000}}}, "port"),
    "the namespace of another release": ({"configuration": {"hub": {"namespace": "other"}}}, "namespace"),
    "an address of one's own": ({"configuration": {"http": {"port": 1, "bindAddress": "::"}}}, "bindAddress"),
    "a mode that no dispatcher has": ({"configuration": {"dispatcher": {"mode": "Nope"}}}, "mode"),
    "a setting that is none": ({"configuration": {"http": {"port": 1, "prt": 9}}}, "prt"),
    "a section that is none": ({"configuration": {"jounral": {"path": "/x"}}}, "jounral"),
    "a duration without a unit": ({"configuration": {"workerLostTimeout": "30"}}, "workerLostTimeout"),
    "an old version of the format": ({"configuration": {"apiVersion": "v1alpha0"}}, "apiVersion"),
    "a plugin without a path": ({"execPlugins": [{"name": "x", "image": "y"}]}, "path"),
    "a variable without a name": ({"extraEnv": [{"value": "x"}]}, "name"),
    "a volume of no size": ({"persistence": {"size": "big"}}, "size"),
    "a runbook that is no address": ({"prometheusRule": {"runbookUrl": "docs/runbook.md"}}, "runbookUrl"),
    "metrics without a certificate": ({"metrics": {"enabled": True}}, "tlsSecret"),
    "an interval without a unit": ({"serviceMonitor": {"interval": "30"}}, "interval"),
    "a network without a mask": ({"networkPolicy": {"apiServerCidrs": ["10.0.0.1"]}}, "apiServerCidrs"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_values_are_refused_by_name(helm: Helm, package: Path, case: str) -> None:
    values, field = WRONG[case]
    said = refusal(helm, package, values)
    assert "values don't meet the specifications of the schema" in said
    assert field in said


def test_a_volume_is_not_shared_by_several_instances(helm: Helm, package: Path) -> None:
    said = refusal(helm, package, {"persistence": {"enabled": True}, "replicas": 2})
    assert "persistence.enabled: needs replicas: 1" in said


def test_a_volume_outlives_the_release_and_may_exist_already(render: Render) -> None:
    made = render(VARIANTS["with a volume for the journal"])
    claim = only(made, "PersistentVolumeClaim")
    assert claim["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}
    assert only(made, "Deployment")["spec"]["strategy"] == {"type": "Recreate"}
    assert volumes(made)["state"] == {"persistentVolumeClaim": {"claimName": claim["metadata"]["name"]}}
    named = render({"persistence": {"enabled": True, "existingClaim": "mine"}})
    assert of_kind(named, "PersistentVolumeClaim") == []
    assert volumes(named)["state"] == {"persistentVolumeClaim": {"claimName": "mine"}}


def volumes(manifests: list[Manifest]) -> dict[str, Manifest]:
    pod = only(manifests, "Deployment")["spec"]["template"]["spec"]
    return {each.pop("name"): each for each in pod["volumes"]}


def test_kubeconfigs_and_plugins_are_where_the_daemon_looks_for_them(render: Render) -> None:
    manifests = render(ALL_ON)
    pod = only(manifests, "Deployment")["spec"]["template"]["spec"]
    mounts = {each["name"]: each["mountPath"] for each in pod["containers"][0]["volumeMounts"]}
    assert mounts["kubeconfigs"] == str(KubeconfigPolicy().allowed_directories[0])
    assert volumes(manifests)["kubeconfigs"]["projected"]["sources"] == [
        {"secret": {"name": "worker-1-kubeconfig", "items": [{"key": "value", "path": "worker-1"}]}}
    ]
    (plugin,) = pod["initContainers"]
    assert plugin["command"] == ["cp", "/usr/bin/login", f"{mounts['plugins']}/login"]
    assert pod["affinity"] == {"nodeAffinity": {}}, "in place of the default"


def test_openshift_chooses_the_user(render: Render) -> None:
    pod = only(render(VARIANTS["on OpenShift"]), "Deployment")["spec"]["template"]["spec"]
    assert pod["securityContext"] == {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}


def test_another_name_is_everywhere(render: Render) -> None:
    assert {each["metadata"]["name"].startswith("gate") for each in render({"fullnameOverride": "gate"})} == {True}


def test_the_shipped_schema_is_made_of_the_settings() -> None:
    made = subprocess.run(
        [sys.executable, "-P", DEPLOY / "helm" / "schema.py"], cwd=DEPLOY.parent, capture_output=True, check=True
    ).stdout
    assert (CHART / "values.schema.json").read_bytes() == made, "`make docs` makes it"


def test_nothing_is_scraped_that_is_not_there(helm: Helm, package: Path) -> None:
    said = refusal(helm, package, {"serviceMonitor": {"enabled": True}})
    assert "serviceMonitor.enabled: needs metrics.enabled" in said


def test_the_role_names_the_lease_that_is_configured(render: Render) -> None:
    rules = only(render({"configuration": {"leaderElection": {"leaseName": "mine"}}}), "Role")["rules"]
    assert [rule["resourceNames"] for rule in rules if "leases" in rule["resources"] and "patch" in rule["verbs"]] == [
        ["mine"]
    ]


def test_a_hub_that_is_too_old_for_the_policy_is_told(helm: Helm, package: Path) -> None:
    said = refusal(helm, package, {}, "--kube-version", "1.35.0")
    assert "managedByPolicy.enabled: needs Kubernetes v1.36 or newer, the hub has v1.35.0; set it to false" in said


NOTES: dict[str, tuple[Manifest, str]] = {
    "with the policy": ({}, "kubectl label namespace NAME multikueue-turnstile.dev/managed=true"),
    "without it": ({"managedByPolicy": {"enabled": False}}, "spec.managedBy: kueue.x-k8s.io/multikueue in each job"),
    "with metrics": (
        {"metrics": {"enabled": True, "tlsSecret": "t"}},
        "kubectl create clusterrolebinding prometheus-reads-turnstile --clusterrole=turnstile-metrics-reader",
    ),
    "in shadow mode": ({"shadow": True}, "in shadow mode: it reads and writes nothing but its Lease"),
}


@pytest.mark.parametrize("case", NOTES)
def test_its_notes_tell_what_comes_next(helm: Helm, package: Path, hub: ApiServer, case: str) -> None:
    values, note = NOTES[case]
    flags = ("--dry-run=server", "--namespace", "turnstile-system", "--kubeconfig", hub.kubeconfig)
    done = helm("install", "turnstile", package, *flags, values=values)
    assert note in done.stdout, done.stderr
