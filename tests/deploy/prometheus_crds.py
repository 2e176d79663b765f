"""The definition of ServiceMonitors, taken from the Prometheus Operator's module."""

import subprocess
from pathlib import Path

import yaml

from tests.realbed import build
from tests.realbed.apiserver import ApiServer
from tests.realbed.processes import wait_until

_MODULE = Path(__file__).parent / "prometheus"
_NAME = "github.com/prometheus-operator/prometheus-operator"
_DEFINITION = "example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml"
_SERVED_SECONDS = 60.0


def install(server: ApiServer) -> None:
    """Create the definition and return once the kind is served."""
    definition = yaml.load((_directory() / _DEFINITION).read_bytes(), yaml.CSafeLoader)
    status, reply = server.call("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
    if status != 201:
        raise RuntimeError(f"{definition['metadata']['name']}: {status} {reply.get('message')}")
    listing = "/apis/monitoring.coreos.com/v1/servicemonitors?limit=1"
    wait_until(lambda: server.call("GET", listing)[0] == 200, seconds=_SERVED_SECONDS, what="ServiceMonitors")


def _directory() -> Path:
    _go("mod", "download", _NAME)
    return Path(_go("list", "-m", "-f", "{{.Dir}}", _NAME))


def _go(*arguments: str) -> str:
    done = subprocess.run([build.go_command(), *arguments], cwd=_MODULE, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise build.ToolchainError(f"`go {arguments[0]}` in {_MODULE.name} failed ({done.stderr.strip()})")
    return done.stdout.strip()
