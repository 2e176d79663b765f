"""The definition of ServiceMonitors, taken from the Prometheus Operator's module."""

from pathlib import Path

import yaml

from tests.deploy import go_modules
from tests.realbed.apiserver import ApiServer
from tests.realbed.processes import wait_until

_MODULE = Path(__file__).parent / "prometheus"
_NAME = "github.com/prometheus-operator/prometheus-operator"
_DEFINITION = "example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml"
_SERVED_SECONDS = 60.0


def install(server: ApiServer) -> None:
    """Create the definition and return once the kind is served."""
    definition = yaml.load((go_modules.source(_MODULE, _NAME) / _DEFINITION).read_bytes(), yaml.CSafeLoader)
    status, reply = server.call("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
    if status != 201:
        raise RuntimeError(f"{definition['metadata']['name']}: {status} {reply.get('message')}")
    listing = "/apis/monitoring.coreos.com/v1/servicemonitors?limit=1"
    wait_until(lambda: server.call("GET", listing)[0] == 200, seconds=_SERVED_SECONDS, what="ServiceMonitors")
