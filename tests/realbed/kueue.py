"""A real Kueue on one cluster: its configuration, its webhooks by URL, its process."""

import base64
import json
import shutil
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import yaml

from tests.realbed import build, kueue_crds, objects
from tests.realbed.apiserver import ApiServer
from tests.realbed.objects import Obj
from tests.realbed.ports import free_ports
from tests.realbed.processes import ProcessGroup, Running, wait_until

NAMESPACE = "kueue-system"
_READY_SECONDS = 180.0
_EFFECTIVE_SECONDS = 60.0
_HOOKED_GROUPS = {"kueue.x-k8s.io", "batch"}
_FRAMEWORKS = ("batch/job", "jobset.x-k8s.io/jobset")
_QUEUES = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues"

_GATES: Mapping[str, bool] = {
    "MultiKueueOrchestratedPreemption": True,
    # It would register an API service, which the API server cannot reach without a cluster network.
    "VisibilityOnDemand": False,
    "DisableWaitForPodsReady": True,
}


@dataclass(frozen=True, slots=True)
class KueueOptions:
    """What differs between the Kueues of a bed; the rest is as Kueue has it by default."""

    feature_gates: Mapping[str, bool] = field(default_factory=dict)
    multi_kueue: Mapping[str, Any] = field(default_factory=dict)
    """The section `multiKueue` of its configuration."""
    fair_sharing: Mapping[str, Any] | None = None
    """The section `fairSharing`; None leaves fair sharing off."""
    binary: build.Binary = build.KUEUE
    frameworks: tuple[str, ...] = ()
    """Kinds of jobs that it manages beside Jobs and JobSets: `pod` or `ray.io/raycluster`."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where one Kueue keeps its files and listens."""

    directory: Path
    health_port: int
    webhook_port: int

    @property
    def configuration_file(self) -> Path:
        """Return the file that it is started with."""
        return self.directory / "kueue.yaml"


@dataclass(slots=True)
class Kueue:
    """A started Kueue."""

    server: ApiServer
    processes: ProcessGroup
    place: Place
    running: Running
    options: KueueOptions
    """What it was started with, or was upgraded to."""

    def is_ready(self) -> bool:
        """Return whether it is ready, asked as a kubelet would."""
        with closing(HTTPConnection("127.0.0.1", self.place.health_port, timeout=5)) as connection:
            try:
                connection.request("GET", "/readyz")
                return connection.getresponse().status == 200
            except OSError:
                return False

    def restart(self, options: KueueOptions | None = None) -> None:
        """Stop it and restart it, with its own options or with others."""
        options = options or self.options
        self.running.stop()
        _write_configuration(self.place, options)
        self.running.arguments = [str(build.ensure_built(options.binary)), *self.running.arguments[1:]]
        self.processes.start_again(self.running)
        self.wait_until_effective()

    def change_release(self, version: str) -> None:
        """Upgrade or downgrade it as its own manifests would: kinds first, then the program, then its webhooks."""
        options = replace(self.options, binary=build.kueue_program(version))
        build.ensure_built(options.binary)
        conversion = _client_configuration(self.server, self.place, "/convert")
        kueue_crds.replace(self.server, conversion, options.binary.module_file)
        self.options = options
        self.restart()
        objects.apply(self.server, _webhooks(self.server, self.place, options))
        self.wait_until_effective()

    def wait_until_effective(self) -> None:
        """Return once it is ready and the API server asks it about objects."""
        self.running.wait_until(self.is_ready, seconds=_READY_SECONDS)
        wait_until(lambda: _is_asked(self.server), seconds=_EFFECTIVE_SECONDS, what="Kueue's webhooks to be asked")


def start(
    processes: ProcessGroup, server: ApiServer, directory: Path, options: KueueOptions, *, prefix: str = ""
) -> Kueue:
    """Install Kueue's kinds and webhooks, start it, and return once it does its work."""
    binary = build.ensure_built(options.binary)
    place = Place(directory, *free_ports(2))
    _write_configuration(place, options)
    shutil.copy(server.certificates.server_certificate, directory / "tls.crt")
    shutil.copy(server.certificates.server_key, directory / "tls.key")
    kueue_crds.install(server, _client_configuration(server, place, "/convert"), options.binary.module_file)
    kueue_crds.install_job_sets(server)
    if "ray.io/raycluster" in options.frameworks:
        kueue_crds.install_ray_clusters(server)
    objects.apply(server, [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}])
    arguments = [
        binary,
        f"--config={place.configuration_file}",
        f"--kubeconfig={server.kubeconfig}",
        "--zap-log-level=2",
    ]
    running = processes.start(f"{prefix}kueue", arguments, {build.KUEUE_METRICS_CERTIFICATES: str(directory)})
    kueue = Kueue(server, processes, place, running, options)
    running.wait_until(kueue.is_ready, seconds=_READY_SECONDS)
    objects.apply(server, _webhooks(server, place, options))
    kueue.wait_until_effective()
    return kueue


def _write_configuration(place: Place, options: KueueOptions) -> None:
    place.directory.mkdir(parents=True, exist_ok=True)
    place.configuration_file.write_text(
        json.dumps(
            {
                "apiVersion": "config.kueue.x-k8s.io/v1beta2",
                "kind": "Configuration",
                "health": {"healthProbeBindAddress": f"127.0.0.1:{place.health_port}"},
                "metrics": {"bindAddress": "0"},
                "webhook": {"host": "127.0.0.1", "port": place.webhook_port, "certDir": str(place.directory)},
                "leaderElection": {"leaderElect": False},
                "internalCertManagement": {"enable": False},
                "controller": {"groupKindConcurrency": {"Workload.kueue.x-k8s.io": 10, "Job.batch": 5}},
                "clientConnection": {"qps": 300, "burst": 500},
                "integrations": {"frameworks": [*_FRAMEWORKS, *options.frameworks]},
                "multiKueue": {"gcInterval": "10s", **options.multi_kueue},
                "featureGates": {**_known_gates(options.binary), **options.feature_gates},
                **({} if options.fair_sharing is None else {"fairSharing": options.fair_sharing}),
            }
        )
    )


def _known_gates(binary: build.Binary) -> dict[str, bool]:
    """Return the gates that a release knows: it refuses a configuration with others."""
    source = build.kueue_directory(binary) / "pkg" / "features" / "kube_features.go"
    text = source.read_text()
    return {name: value for name, value in _GATES.items() if f'"{name}"' in text}


def _webhooks(server: ApiServer, place: Place, options: KueueOptions) -> list[Obj]:
    """Return Kueue's webhook configurations for the groups that a bed serves, with URLs in place of services."""
    hooks = {f"{prefix}{each.rpartition('/')[2]}.kb.io" for each in options.frameworks for prefix in ("m", "v")}
    source = build.kueue_directory(options.binary) / "config" / "components" / "webhook" / "manifests.yaml"
    configurations = [each for each in yaml.load_all(source.read_bytes(), yaml.CSafeLoader) if each]
    for configuration in configurations:
        configuration["metadata"]["name"] = f"kueue-{configuration['metadata']['name']}"
        configuration["webhooks"] = [
            {**hook, "clientConfig": _client_configuration(server, place, hook["clientConfig"]["service"]["path"])}
            for hook in configuration["webhooks"]
            if all(set(rule["apiGroups"]) <= _HOOKED_GROUPS for rule in hook["rules"]) or hook["name"] in hooks
        ]
    return configurations


def _client_configuration(server: ApiServer, place: Place, path: str) -> Obj:
    authority = base64.b64encode(server.ca_file.read_bytes()).decode()
    return {"url": f"https://127.0.0.1:{place.webhook_port}{path}", "caBundle": authority}


def _is_asked(server: ApiServer) -> bool:
    """Try a queue without keeping it: Kueue adds its finalizer to every one."""
    queue = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "metadata": {"name": "webhook-probe"}}
    status, reply = server.call("POST", f"{_QUEUES}?dryRun=All", {**queue, "spec": {}})
    return status == 201 and bool(reply["metadata"].get("finalizers"))
