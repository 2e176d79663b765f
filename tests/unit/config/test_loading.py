"""A configuration is valid as a whole, or every mistake in it is named with its line and with what is allowed."""

import json
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from config.loading.loading import MAX_FILE_SIZE, load_configuration
from config.reading.problems import ConfigurationError
from config.sections.sections import Gates, SecretReference
from config.sections.settings import Configuration
from config.types.choices import DispatcherMode, GatesUnsupported
from tests.unit.config.documents import HEADER, load, problems_of
from tests.unit.config.mistakes import FIVE_ERRORS, FIVE_MISTAKES


def test_five_different_mistakes_give_five_precise_errors() -> None:
    assert [str(problem) for problem in problems_of(FIVE_MISTAKES)] == FIVE_ERRORS


# The file's third line is the first of the body; what follows the field's path in the message.
MISTAKES: dict[str, tuple[str, str]] = {
    "an unknown field at the top": ("gate: {}\n", ':3: gate: unknown field; did you mean "gates"?'),
    "a field in snake case": ("gc_interval: 1m\n", ':3: gc_interval: unknown field; did you mean "gcInterval"?'),
    "a field in the wrong section": (
        "stepSize: 3\n",
        ':3: stepSize: unknown field; did you mean "dispatcher.stepSize"?',
    ),
    "a field that resembles nothing": (
        "http:\n  qqqq: 1\n",
        ":4: http.qqqq: unknown field: allowed here are bindAddress, port",
    ),
    "a key given twice": (
        "http: {port: 1}\nhttp: {port: 2}\n",
        ":4: http: is given twice (first on line 3)",
    ),
    "a duration without a unit": (
        "workerLostTimeout: 15\n",
        ':3: workerLostTimeout: 15 is not allowed: a duration of at least 1s (for example "15m")',
    ),
    "a duration with an unknown unit": (
        "workerLostTimeout: 1d\n",
        ':3: workerLostTimeout: "1d" is not allowed: a duration of at least 1s (for example "15m"); '
        'it must be a number and a unit, such as "300ms", "30s", "5m" or "1h30m"',
    ),
    "a timeout of zero": (
        "gates: {singleClusterPreemptionTimeout: 0}\n",
        ":3: gates.singleClusterPreemptionTimeout: 0 is not allowed: a duration of at least 1s (for example",
    ),
    "a timeout below a second": (
        "gates: {singleClusterPreemptionTimeout: 999ms}\n",
        ':3: gates.singleClusterPreemptionTimeout: "999ms" is not allowed: a duration of at least 1s',
    ),
    "a collection interval between zero and a second": (
        "gcInterval: 10ms\n",
        ':3: gcInterval: "10ms" is not allowed: a duration of at least 1s (for example "1m"), or "0" (off)',
    ),
    "a policy that does not exist": (
        "gates: {policy: MostDisruption}\n",
        ':3: gates.policy: "MostDisruption" is not allowed: one of FirstComeFirstServed, LeastDisruption, '
        'PreferNoPreemption; did you mean "LeastDisruption"?',
    ),
    "a grace period beyond the timeout": (
        "gates: {singleClusterPreemptionTimeout: 1m, gracePeriod: 2m}\n",
        ':3: gates.gracePeriod: "2m" is not allowed: not longer than singleClusterPreemptionTimeout',
    ),
    "a policy that needs forecasts without forecasts": (
        "forecast: {enabled: false}\ngates: {policy: LeastDisruption}\n",
        ':4: gates.policy: "LeastDisruption" is not allowed: not LeastDisruption, because forecast.enabled is false',
    ),
    "an option that needs forecasts without forecasts": (
        "forecast: {enabled: false}\ngates: {skipFutile: true}\n",
        ":4: gates.skipFutile: true is not allowed: false, because forecast.enabled is false",
    ),
    "a dispatcher that needs forecasts without forecasts": (
        "forecast: {enabled: false}\ndispatcher: {mode: ForecastFirst}\n",
        ':4: dispatcher.mode: "ForecastFirst" is not allowed: not ForecastFirst, because forecast.enabled is false',
    ),
    "a hit rate above all": (
        "forecast: {minimumHitRate: 101}\n",
        ":3: forecast.minimumHitRate: 101 is not allowed: a whole number from 0 to 100",
    ),
    "a choice in the wrong case": (
        "dispatcher: {mode: incremental}\n",
        ':3: dispatcher.mode: "incremental" is not allowed: one of AllAtOnce, Incremental, External, ForecastFirst; '
        'did you mean "Incremental"?',
    ),
    "a number out of range": (
        "http: {port: 65536}\n",
        ":3: http.port: 65536 is not allowed: a whole number from 0 to 65535",
    ),
    "a number as a string": ('http: {port: "80"}\n', ':3: http.port: "80" is not allowed: a whole number'),
    "a fraction for a whole number": ("dispatcher: {stepSize: 1.5}\n", ":3: dispatcher.stepSize: 1.5 is not allowed"),
    "a switch for a number": ("dispatcher: {stepSize: true}\n", ":3: dispatcher.stepSize: true is not allowed"),
    "yes for a switch": ("discovery: {enabled: yes}\n", ':3: discovery.enabled: "yes" is not allowed: true or false'),
    "null for a value": ("http: {port: null}\n", ":3: http.port: is required: a whole number"),
    "a host name to bind to": ("http: {bindAddress: localhost}\n", ':3: http.bindAddress: "localhost" is not allowed'),
    "an open port without TLS": (
        "http: {bindAddress: 0.0.0.0}\n",
        ":3: http.certificateFile: is required: a path, because bindAddress 0.0.0.0 is not loopback",
    ),
    "an open port without authorization": (
        "http: {bindAddress: '::', certificateFile: /c, keyFile: /k}\n",
        ':3: http.authorization: "None" is not allowed: Kubernetes or TokenFile, because bindAddress :: is not',
    ),
    "a certificate without its key": (
        "http: {certificateFile: /c}\n",
        ":3: http.keyFile: is required: a path, because",
    ),
    "no token file": (
        "http: {authorization: TokenFile}\n",
        ":3: http.tokenFile: is required: a path, because authorization is TokenFile",
    ),
    "a token file that is not asked for": (
        "http: {tokenFile: /t}\n",
        ':3: http.tokenFile: "/t" is not allowed: only together with authorization TokenFile',
    ),
    "audiences that are not checked": (
        "http: {audiences: [turnstile]}\n",
        ":3: http.audiences: a list is not allowed: only together with authorization Kubernetes",
    ),
    "a size that is too small": ("journal: {maxSize: 1Ki}\n", ':3: journal.maxSize: "1Ki" is not allowed: a size of'),
    "a list for a section": ("http: []\n", ":3: http: a list is not allowed: a mapping with bindAddress, port"),
    "a string for a list": (
        "workers: w1\n",
        ":3: workers: a string of 2 characters is not allowed: a list of mappings",
    ),
    "a string for a worker": (
        "workers:\n- w1\n",
        ":4: workers[0]: a string of 2 characters is not allowed: a mapping with name, kubeconfig, context,",
    ),
    "a worker without a name": ("workers:\n- qps: 1\n", ":4: workers[0].name: is required: a DNS-1123 name"),
    "a worker's name in capitals": ("workers:\n- name: W1\n", ':4: workers[0].name: "W1" is not allowed: a DNS-1123'),
    "a kubeconfig with both sources": (
        "workers:\n- name: w\n  kubeconfig: {path: /a, secret: {name: s}}\n",
        ":5: workers[0].kubeconfig: a mapping is not allowed: a mapping with exactly one of path and secret",
    ),
    "a kubeconfig with no source": (
        "workers:\n- name: w\n  kubeconfig: {}\n",
        ":5: workers[0].kubeconfig: a mapping is not allowed: a mapping with exactly one of path and secret",
    ),
    "a path that climbs": (
        "workers:\n- name: w\n  kubeconfig: {path: /etc/multikueue/../shadow}\n",
        ':5: workers[0].kubeconfig.path: "/etc/multikueue/../shadow" is not allowed: an absolute path without',
    ),
    "less burst than qps": (
        "workers:\n- name: w\n  qps: 200\n",
        ":4: workers[0].burst: 100 is not allowed: at least qps, which is 200",
    ),
    "a label value that is a number": (
        "workers:\n- name: w\n  labels:\n    zone: 1\n",
        ":6: workers[0].labels.zone: 1 is not allowed: a label value",
    ),
    "a negative weight": (
        "workers:\n- name: w\n  weight: -1\n",
        ":5: workers[0].weight: -1 is not allowed: a number from 0 to 1000000",
    ),
    "a weight that is no number": (
        "workers:\n- name: w\n  weight: .nan\n",
        ':5: workers[0].weight: ".nan" is not allowed: a number from 0 to 1000000',
    ),
    "a negative price": (
        "workers:\n- name: w\n  costPerHour: {cpu: -0.5}\n",
        ":5: workers[0].costPerHour.cpu: -0.5 is not allowed: a number from 0 to 1000000",
    ),
    "a price that is no number": (
        "workers:\n- name: w\n  costPerHour: {cpu: cheap}\n",
        ':5: workers[0].costPerHour.cpu: "cheap" is not allowed: a number from 0 to 1000000',
    ),
    "a label key with an underscore at its end": (
        "workers:\n- name: w\n  labels: {zone_a_: x}\n",
        ':5: workers[0].labels.zone_a_: "zone_a_" is not allowed: a label key',
    ),
    "no worker can ever come": (
        "discovery: {enabled: false}\n",
        ":1: workers: a list is not allowed: at least one worker, because discovery.enabled is false",
    ),
    "a worker that only discovery could complete": (
        "discovery: {enabled: false}\nworkers:\n- name: w\n",
        ":5: workers[0].kubeconfig: is required: a kubeconfig, because discovery.enabled is false",
    ),
    "a lease shorter than its renewal": (
        "leaderElection:\n  leaseDuration: 5s\n",
        ':4: leaderElection.leaseDuration: "5s" is not allowed: longer than renewDeadline',
    ),
    "a renewal that leaves no second try": (
        "leaderElection:\n  renewDeadline: 2s\n",
        ':4: leaderElection.renewDeadline: "2s" is not allowed: longer than 1.2 times retryPeriod',
    ),
    "a context without a kubeconfig": (
        "hub: {context: c}\n",
        ':3: hub.context: "c" is not allowed: only together with kubeconfig',
    ),
    "another controller's name": (
        "hub: {controllerName: example.com/x}\n",
        ':3: hub.controllerName: "example.com/x" is not allowed: multikueue-turnstile.dev/orchestrator or kueue',
    ),
    "a proxy with a password": (
        'kubeconfigPolicy: {allowedProxies: ["http://me:hunter2@proxy:3128"]}\n',
        ':3: kubeconfigPolicy.allowedProxies[0]: "http://(hidden)@proxy:3128" is not allowed: a proxy',
    ),
    "a collector with a password": (
        'tracing: {endpoint: "http://me:hunter2@collector:4318/v1/traces"}\n',
        ':3: tracing.endpoint: "http://(hidden)@collector:4318/v1/traces" is not allowed: the URL of an OTLP/HTTP coll',
    ),
    "a collector without a path": (
        'tracing: {endpoint: "http://collector:4318"}\n',
        ':3: tracing.endpoint: "http://collector:4318" is not allowed: the URL of an OTLP/HTTP collector without cred',
    ),
    "a collector that speaks something else": (
        'tracing: {endpoint: "grpc://collector:4317/v1/traces"}\n',
        ':3: tracing.endpoint: "grpc://collector:4317/v1/traces" is not allowed: the URL of an OTLP/HTTP collector wi',
    ),
    "a relative directory": (
        "kubeconfigPolicy: {allowedDirectories: [etc]}\n",
        ':3: kubeconfigPolicy.allowedDirectories[0]: "etc" is not allowed: an absolute path',
    ),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_each_mistake_alone_gives_one_error(case: str) -> None:
    body, want = MISTAKES[case]
    (problem,) = problems_of(HEADER + body)
    assert str(problem).startswith(f"turnstile.yaml{want}")


def test_mistakes_of_all_kinds_are_reported_together_in_the_order_of_the_file() -> None:
    body = """\
kind: Config
qqqqq: 1
workers: [{name: a}, {name: a}]
leaderElection: {leaseDuration: 1s}
qqqqq: 2
http: {port: -1}
"""
    problems = problems_of(body, {"TURNSTILE_GC_INTERVAL": "x", "TURNSTILE_HTP": "1"})
    assert [problem.field or problem.variable for problem in problems] == [
        "apiVersion",
        "kind",
        "qqqqq",
        "workers[1].name",
        "leaderElection.leaseDuration",
        "qqqqq",
        "http.port",
        "gcInterval",
        "TURNSTILE_HTP",
    ]


WHOLE_FILES: dict[str, tuple[bytes, str]] = {
    "an empty file": (b"", "turnstile.yaml: is empty: expected a mapping with apiVersion: config."),
    "only comments": (b"# later\n", "turnstile.yaml: is empty: expected a mapping"),
    "a list": (b"- a\n", "turnstile.yaml: holds a list: expected a mapping"),
    "broken YAML": (b"a: [1,\nb: 2\n", "turnstile.yaml:3: is not YAML: "),
    "two documents": (
        HEADER.encode() + b"---\n" + HEADER.encode(),
        "turnstile.yaml:3: holds several YAML documents",
    ),
    "not UTF-8": (b"\xff\xfe", "turnstile.yaml:1: is not UTF-8 text"),
    "another kind": (
        HEADER.replace("kind: Configuration", "kind: Deployment").encode(),
        'turnstile.yaml:2: kind: "Deployment" is not allowed: Configuration',
    ),
    "another version": (
        HEADER.replace("v1alpha1", "v9").encode(),
        'turnstile.yaml:1: apiVersion: "config.multikueue-turnstile.dev/v9" is not allowed: config.multikueue',
    ),
    "no version": (b"kind: Configuration\n", "turnstile.yaml:1: apiVersion: is required: config.multikueue-turnstile"),
}


@pytest.mark.parametrize("case", WHOLE_FILES)
def test_whole_files(case: str) -> None:
    raw, want = WHOLE_FILES[case]
    (problem,) = problems_of(raw)
    assert str(problem).startswith(want)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    huge = tmp_path / "huge.yaml"
    huge.write_bytes(b"#" * (MAX_FILE_SIZE + 1))
    for path, want in [
        (tmp_path, "is a directory: name a file in it"),
        (tmp_path / "none.yaml", "does not exist"),
        (huge, "is larger than 1024 KiB, which is the limit"),
        (Path("/proc/self/mem"), "is not readable"),
    ]:
        with pytest.raises(ConfigurationError) as caught:
            load_configuration(path, {})
        assert str(caught.value).startswith(f"{path}: {want}")


def test_defaults() -> None:
    configuration = load().configuration
    assert configuration == Configuration(api_version=configuration.api_version, kind="Configuration")
    assert configuration.gates.single_cluster_preemption_timeout == timedelta(minutes=5)
    assert configuration.hub.controller_name == "multikueue-turnstile.dev/orchestrator"
    assert configuration.http.bind_address == "127.0.0.1"
    assert configuration.discovery.enabled
    assert not configuration.kubeconfig_policy.allow_exec_plugins
    assert not configuration.kubeconfig_policy.allow_file_references


def test_values_arrive_typed_and_frozen() -> None:
    configuration = load(
        """\
hub: {kubeconfig: /etc/turnstile/hub, context: c, origin: hub-1, controllerName: kueue.x-k8s.io/multikueue}
workers:
- name: w1
  kubeconfig: {secret: {name: w1}}
  gatesUnsupported: sequential
  labels: {b: "2", a: "1"}
- name: w2
  kubeconfig: {path: /etc/multikueue/kubeconfigs/w2}
dispatcher: {mode: Incremental, stepSize: 2, roundTimeout: 1m30s}
gcInterval: 0
journal: {path: null, maxSize: 1Gi}
"""
    ).configuration
    first, second = configuration.workers
    assert first.kubeconfig is not None
    assert first.kubeconfig.secret == SecretReference(name="w1", key="kubeconfig")
    assert (first.gates_unsupported, first.labels) == (GatesUnsupported.SEQUENTIAL, (("a", "1"), ("b", "2")))
    assert second.kubeconfig is not None
    assert second.kubeconfig.path == Path("/etc/multikueue/kubeconfigs/w2")
    assert configuration.dispatcher.mode is DispatcherMode.INCREMENTAL
    assert configuration.dispatcher.round_timeout == timedelta(seconds=90)
    assert (configuration.gc_interval, configuration.journal.path) == (timedelta(0), None)
    assert configuration.journal.max_size == 1 << 30
    hash(configuration)
    with pytest.raises(ValidationError, match="frozen"):
        configuration.gates.policy = configuration.gates.policy


def test_an_empty_section_is_an_absent_one() -> None:
    assert load("workers:\ngates:\n").configuration == load().configuration


def test_sections_can_be_built_in_python_with_the_same_rules() -> None:
    gates = Gates(single_cluster_preemption_timeout=timedelta(seconds=1))
    assert gates.hold_while_quota_reserved
    with pytest.raises(ValidationError):
        Gates(single_cluster_preemption_timeout=timedelta(milliseconds=1))


WARNINGS: dict[str, tuple[str, str]] = {
    "a short timeout": (
        "gates:\n  singleClusterPreemptionTimeout: 29s\n",
        "turnstile.yaml:4: gates.singleClusterPreemptionTimeout: 29s is short",
    ),
    "no garbage collection": ("gcInterval: 0s\n", "turnstile.yaml:3: gcInterval: garbage collection is off"),
    "no leader election": (
        "leaderElection: {enabled: false}\n",
        "turnstile.yaml:3: leaderElection.enabled: leader election is off",
    ),
    "a trial without forecasts first": (
        "dispatcher: {forecastRoundTimeout: 5s}\n",
        "turnstile.yaml:3: dispatcher.forecastRoundTimeout: has no effect with mode AllAtOnce",
    ),
    "rounds without rounds": (
        "dispatcher: {stepSize: 5}\n",
        "turnstile.yaml:3: dispatcher.stepSize: has no effect with mode AllAtOnce",
    ),
}


@pytest.mark.parametrize("case", WARNINGS)
def test_warnings(case: str) -> None:
    body, want = WARNINGS[case]
    (warning,) = load(body).warnings
    assert str(warning).startswith(want)


def test_F7_two_minutes_and_a_loopback_of_version_6_deserve_no_warning() -> None:
    assert load('gates: {singleClusterPreemptionTimeout: 2m}\nhttp: {bindAddress: "::1"}\n').warnings == ()


SECRET = "hunter2-do-not-print"


@pytest.mark.parametrize(
    "body",
    [
        f"workers:\n- name: w\n  kubeconfig: |\n    apiVersion: v1\n    users: [{{token: {SECRET}}}]\n",
        f"workers:\n- name: w\n  kubeconfig: {SECRET}\n",
        f"workers:\n- name: w\n  kubeconfig:\n    token: {SECRET}\n",
        f"workers:\n- name: w\n  kubeconfig:\n    path: |\n      kind: Config\n      token: {SECRET}\n",
        f"workers:\n- name: w\n  kubeconfig:\n    secret: {SECRET}\n",
        f"token: {SECRET}\n",
        f"kubeconfigPolicy: {{allowedProxies: ['http://u:{SECRET}@p:1']}}\n",
        f"tracing: {{endpoint: 'http://collector:4318/v1/traces?key={SECRET}'}}\n",
        f"hub: {{origin: '{SECRET}{'x' * 200}'}}\n",
    ],
)
def test_secrets_in_the_wrong_place_are_not_printed(body: str) -> None:
    problems = problems_of(HEADER + body)
    assert problems
    assert SECRET not in "".join(map(str, problems))


def test_a_token_file_given_by_mistake_is_not_printed() -> None:
    (problem,) = problems_of(SECRET)
    assert str(problem).startswith("turnstile.yaml: holds a string of 20 characters: expected a mapping")


def test_control_characters_cannot_reach_the_terminal() -> None:
    (problem,) = problems_of(HEADER + '"\\e[2Jx": 1\n')
    assert "\x1b" not in str(problem)
    assert "\\x1b[2Jx" in str(problem)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["workers", "name", "gates", "policy", "kubeconfig", "hub", "labels", "discovery", "enabled"]
                ),
                inner,
                max_size=4,
            )
        ),
        max_leaves=12,
    )
)
def test_no_tree_of_values_crashes_the_loader(tree: object) -> None:
    raw = json.dumps(tree, ensure_ascii=True).encode()
    for problem in problems_of(raw):
        assert str(problem)
