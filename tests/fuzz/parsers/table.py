"""The parsers: what each reads, and the only exceptions by which it may refuse that."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import orjson

from config.api.meta import parse_time
from config.api.quantity import parse_quantity
from config.api.selector_text import parse_selector
from config.kubeconfig.access import ExecPlugin
from config.kubeconfig.credentials import CredentialError, parse_exec_credential, parse_token_file
from config.kubeconfig.errors import KubeconfigError
from config.kubeconfig.parsing import parse_kubeconfig
from config.loading.loading import parse_configuration
from config.reading.problems import ConfigurationError
from config.reading.yaml_document import NotYamlError, read_yaml
from config.sections.sections import KubeconfigPolicy
from config.types.byte_size import parse_size
from config.types.duration import parse_duration
from engine.versions.gates import parse_feature_gates
from gates.detection.schema_facts import schema_facts
from gates.jobs.kinds import SHIPPED
from gates.jobs.records import job_reader
from gates.model.forecasts import parse_record
from gates.planning.wanted import read_wanted
from gates.wire.annotations import parse_openings, parse_winner
from gates.wire.record_readers import hub_record, replica_record
from manager.base.kinds import WORKLOADS
from workerclient.base.errors import ClusterError, Operation
from workerclient.wire.codec import decode_event, decode_object, decode_page, decode_status


@dataclass(frozen=True)
class FuzzedParser:
    """One parser."""

    name: str
    parse: Callable[[bytes], object]
    refusals: tuple[type[Exception], ...]
    """How it may say that it cannot use its input; anything else is a finding."""
    seeds: tuple[bytes, ...]
    """What it reads every day."""
    is_json: bool = False

    def run(self, data: bytes) -> None:
        """Parse; raises whatever is not a refusal."""
        with suppress(*self.refusals):
            self.parse(data)


_OPERATION: Final = Operation("fuzzed", "get", "workloads")
_PLUGIN: Final = ExecPlugin("plugin", "client.authentication.k8s.io/v1")
_KINDS: Final = {kind.gvk: kind for kind in SHIPPED}


def _on_json(parse: Callable[[Any], object]) -> Callable[[bytes], object]:
    """Return a parser of what is JSON already; what is not is refused before it."""

    def parsed(data: bytes) -> object:
        return parse(orjson.loads(data))

    return parsed


def _on_text(parse: Callable[[str], object]) -> Callable[[bytes], object]:
    return lambda data: parse(data.decode("utf-8", "replace"))


def _document(**fields: object) -> bytes:
    return orjson.dumps(fields)


_METADATA: Final = {"name": "wl", "namespace": "team", "uid": "u", "resourceVersion": "7", "generation": 1}
_TIME: Final = "2025-06-15T15:06:40Z"
_CONDITION: Final = {
    "type": "QuotaReserved",
    "status": "True",
    "reason": "r",
    "message": "m",
    "lastTransitionTime": _TIME,
}
_CONTAINER: Final = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
_TEMPLATE: Final = {"spec": {"containers": [_CONTAINER], "restartPolicy": "Never"}}
_POD_SET: Final = {"name": "main", "count": 1, "template": _TEMPLATE}
_WORKLOAD: Final = _document(
    apiVersion="kueue.x-k8s.io/v1beta2",
    kind="Workload",
    metadata={**_METADATA, "labels": {"kueue.x-k8s.io/multikueue-origin": "hub"}, "annotations": {"a": "b"}},
    spec={
        "queueName": "q",
        "priority": 5,
        "podSets": [_POD_SET],
        "preemptionGates": [{"name": "kueue.x-k8s.io/multikueue"}],
    },
    status={
        "conditions": [_CONDITION],
        "admissionChecks": [{"name": "mk", "state": "Pending", "message": "", "lastTransitionTime": _TIME}],
        "preemptionGates": [{"name": "kueue.x-k8s.io/multikueue", "position": "Open", "lastTransitionTime": _TIME}],
        "clusterName": "w1",
        "nominatedClusterNames": ["w1"],
    },
)
_JOB: Final = _document(
    apiVersion="batch/v1",
    kind="Job",
    metadata=_METADATA,
    spec={"suspend": True, "managedBy": "kueue.x-k8s.io/multikueue", "parallelism": 2, "template": _TEMPLATE},
    status={"active": 1, "startTime": _TIME, "conditions": [{"type": "Complete", "status": "True"}]},
)
_OPENINGS: Final = orjson.dumps(
    [
        {
            "cluster": "w1",
            "replicaUID": "u",
            "openedAtUnixNano": "1750000009750742129",
            "attempt": "1750000009000000000/0",
            "steady": {"clock": "machine", "nanoseconds": "1000"},
        }
    ]
)
_FORECAST: Final = _document(
    cluster="w1",
    replicaUID="u",
    openedAtUnixNano="1",
    madeAtUnixNano="1",
    verdict="Preempts",
    message="",
    clusterQueue="cq",
    flavors=[],
    borrowing=0,
    victims=[],
    victimsLeftOut=0,
    cost={"preemptionCost": 1, "victims": 1, "pods": 1, "acceleratorSeconds": 0, "cpuSeconds": 5},
    result="pending",
    resultMessage="",
)
_KUBECONFIG: Final = b"""apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://w1.example:6443"}}]
users: [{name: u, user: {token: t}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
"""
_CONFIGURATION: Final = b"""apiVersion: config.multikueue-turnstile.dev/v1alpha1
kind: Configuration
hub: {origin: hub}
gates: {singleClusterPreemptionTimeout: 5m}
workers: [{name: w1}]
"""
_OPENAPI: Final = _document(
    components={
        "schemas": {
            "io.x-k8s.kueue.v1beta2.Workload": {
                "properties": {"spec": {"properties": {"preemptionGates": {}}}},
                "x-kubernetes-group-version-kind": [
                    {"group": "kueue.x-k8s.io", "kind": "Workload", "version": "v1beta2"}
                ],
            }
        }
    }
)
_PAGE: Final = (
    b'{"kind":"WorkloadList","apiVersion":"kueue.x-k8s.io/v1beta2","metadata":{"resourceVersion":"7"},"items":['
    + _WORKLOAD
    + b"]}"
)
_STATUS: Final = b'{"kind":"Status","code":409,"reason":"Conflict","message":"m","details":{"retryAfterSeconds":1}}'
_NO_JSON: Final = orjson.JSONDecodeError

PARSERS: Final = (
    FuzzedParser(
        "configuration", lambda data: parse_configuration(data, "file", {}), (ConfigurationError,), (_CONFIGURATION,)
    ),
    FuzzedParser("duration", _on_text(parse_duration), (ValueError,), (b"5m", b"1h30m", b"1.5s")),
    FuzzedParser(
        "exec-credential",
        lambda data: parse_exec_credential(data, _PLUGIN),
        (CredentialError,),
        (
            _document(
                kind="ExecCredential",
                apiVersion=_PLUGIN.api_version,
                status={"token": "t", "expirationTimestamp": _TIME},
            ),
        ),
        is_json=True,
    ),
    FuzzedParser("feature-gates", _on_text(parse_feature_gates), (ValueError,), (b"PriorityBoost=true",)),
    FuzzedParser("forecast-record", _on_text(parse_record), (), (_FORECAST,), is_json=True),
    FuzzedParser("hub-workload", _on_json(hub_record), (ValueError,), (_WORKLOAD,), is_json=True),
    FuzzedParser(
        "job", _on_json(job_reader(_KINDS["batch/v1, Kind=Job"], on_hub=True)), (ValueError,), (_JOB,), is_json=True
    ),
    FuzzedParser(
        "kubeconfig", lambda data: parse_kubeconfig(data, KubeconfigPolicy()), (KubeconfigError,), (_KUBECONFIG,)
    ),
    FuzzedParser(
        "list-page", lambda data: decode_page(_OPERATION, data, WORKLOADS, 100), (ClusterError,), (_PAGE,), is_json=True
    ),
    FuzzedParser(
        "manifest",
        _on_json(lambda raw: read_wanted(raw, "team", _KINDS)),
        (ValueError,),
        (_WORKLOAD, _JOB),
        is_json=True,
    ),
    FuzzedParser(
        "object", lambda data: decode_object(_OPERATION, data, WORKLOADS), (ClusterError,), (_WORKLOAD,), is_json=True
    ),
    FuzzedParser(
        "openapi",
        _on_json(lambda document: schema_facts(document, ("v1beta2",))),
        (_NO_JSON,),
        (_OPENAPI,),
        is_json=True,
    ),
    FuzzedParser("openings", _on_text(parse_openings), (ValueError,), (_OPENINGS,), is_json=True),
    FuzzedParser("quantity", _on_text(parse_quantity), (ValueError,), (b"500m", b"1Gi", b"1e3", b"0.5")),
    FuzzedParser("replica", _on_json(replica_record), (ValueError,), (_WORKLOAD,), is_json=True),
    FuzzedParser("selector", _on_text(parse_selector), (ValueError,), (b"tier=gold,gpu in (a,b),!spot",)),
    FuzzedParser("size", _on_text(parse_size), (ValueError,), (b"64Mi",)),
    FuzzedParser("status", decode_status, (), (_STATUS,), is_json=True),
    FuzzedParser("time", _on_text(parse_time), (ValueError,), (_TIME.encode(), b"2025-06-15T15:06:40.123456Z")),
    FuzzedParser(
        "token-file", parse_token_file, (CredentialError,), (b"eyJhbGciOiJub25lIn0.eyJleHAiOjE3NTAwMDAwMDB9.x",)
    ),
    FuzzedParser(
        "watch-event",
        lambda data: decode_event(_OPERATION, data),
        (ClusterError,),
        (b'{"type":"ADDED","object":' + _WORKLOAD + b"}",),
        is_json=True,
    ),
    FuzzedParser(
        "winner",
        _on_text(parse_winner),
        (ValueError,),
        (_document(cluster="w1", replicaUID="u", quotaReservedAtUnixNano="1"),),
        is_json=True,
    ),
    FuzzedParser("yaml", read_yaml, (NotYamlError,), (_CONFIGURATION, b"a: &x [1, {b: c}]\n")),
)
