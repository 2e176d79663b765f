"""The definitions of ServiceMonitors and PrometheusRules, taken from the Prometheus Operator's module."""

from pathlib import Path

import yaml

from tests.deploy import go_modules
from tests.realbed.apiserver import ApiServer
from tests.realbed.processes import wait_until

_MODULE = Path(__file__).parent / "prometheus"
_NAME = "github.com/prometheus-operator/prometheus-operator"
_DEFINITION = "example/prometheus-operator-crd/monitoring.coreos.com_{}.yaml"
_PLURALS = ("servicemonitors", "prometheusrules")
_SERVED_SECONDS = 60.0


def install(server: ApiServer) -> None:
    """Create the definitions and return once the kinds are served."""
    source = go_modules.source(_MODULE, _NAME)
    for plural in _PLURALS:
        definition = yaml.load((source / _DEFINITION.format(plural)).read_bytes(), yaml.CSafeLoader)
        status, reply = server.call("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
        if status != 201:
            raise RuntimeError(f"{definition['metadata']['name']}: {status} {reply.get('message')}")
    wait_until(lambda: all(_is_served(server, each) for each in _PLURALS), seconds=_SERVED_SECONDS, what="the kinds")


def _is_served(server: ApiServer, plural: str) -> bool:
    return server.call("GET", f"/apis/monitoring.coreos.com/v1/{plural}?limit=1")[0] == 200
