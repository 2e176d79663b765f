"""Environment variables override the file, one by one, and never silently fail to."""

from datetime import timedelta
from pathlib import Path

import pytest

from config.loading.environment import read_environment
from config.loading.loading import did_you_mean
from config.sections.sections import WorkerSection
from tests.unit.config.documents import HEADER, load, problems_of


def test_the_environment_wins_over_the_file_and_the_file_over_the_default() -> None:
    configuration = load(
        "gates: {singleClusterPreemptionTimeout: 1m, holdWhileQuotaReserved: false}\n",
        {"TURNSTILE_GATES__SINGLE_CLUSTER_PREEMPTION_TIMEOUT": "30s"},
    ).configuration
    assert configuration.gates.single_cluster_preemption_timeout == timedelta(seconds=30)
    assert not configuration.gates.hold_while_quota_reserved
    assert configuration.gates.gate_single_target


def test_every_kind_of_value_can_be_set() -> None:
    configuration = load(
        "workers: [{name: from-file}]\njournal: {path: /j}\n",
        {
            "TURNSTILE_HTTP__PORT": "0",
            "TURNSTILE_DISCOVERY__ENABLED": "True",
            "TURNSTILE_GC_INTERVAL": "0",
            "TURNSTILE_JOURNAL__PATH": "null",
            "TURNSTILE_JOURNAL__MAX_SIZE": "2Gi",
            "TURNSTILE_LOGGING__LEVEL": "debug",
            "TURNSTILE_HUB__ORIGIN": "123",
            "TURNSTILE_KUBECONFIG_POLICY__ALLOWED_DIRECTORIES": '["/a", "/b"]',
            "TURNSTILE_WORKERS": '[{"name": "w", "gatesUnsupported": "exclude"}]',
        },
    ).configuration
    assert (configuration.http.port, configuration.journal.path, configuration.hub.origin) == (0, None, "123")
    assert configuration.kubeconfig_policy.allowed_directories == (Path("/a"), Path("/b"))
    assert configuration.workers == (WorkerSection.model_validate({"name": "w", "gates_unsupported": "exclude"}),)


MISTAKES: dict[str, tuple[str, str, str]] = {
    "an unknown variable": ("TURNSTILE_HTTP__PRT", "1", "unknown variable; did you mean TURNSTILE_HTTP__PORT?"),
    "one underscore where two belong": (
        "TURNSTILE_HTTP_PORT",
        "1",
        "unknown variable; did you mean TURNSTILE_HTTP__PORT?",
    ),
    "a variable like nothing": ("TURNSTILE_Q", "1", "unknown variable: it names no field"),
    "a whole section": ("TURNSTILE_GATES", "{}", "unknown variable"),
    "a bad value": ("TURNSTILE_HTTP__PORT", "x", 'http.port: "x" is not allowed: a whole number from 0 to 65535'),
    "an empty value": ("TURNSTILE_GC_INTERVAL", "", 'gcInterval: "" is not allowed: a duration'),
    "a list that is not JSON": ("TURNSTILE_WORKERS", "w1,w2", "is not JSON: a list of mappings, written as JSON"),
    "a mistake inside a list": (
        "TURNSTILE_WORKERS",
        '[{"name": "w", "qsp": 1}]',
        f"workers[0].qsp: {did_you_mean('qps')}",
    ),
    "null where a value is needed": ("TURNSTILE_HTTP__PORT", "null", 'http.port: "null" is not allowed'),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_mistakes_name_the_variable_instead_of_a_line(case: str) -> None:
    variable, text, want = MISTAKES[case]
    (problem,) = problems_of(HEADER, {variable: text})
    assert str(problem).startswith(f"{variable}: {want}")


def test_an_override_repairs_a_mistake_in_the_file() -> None:
    assert problems_of(HEADER + "http: {port: 99999}\n", {"TURNSTILE_HTTP__PORT": "80"}) == ()


def test_duplicate_names_are_found_whatever_their_source() -> None:
    (problem,) = problems_of(HEADER, {"TURNSTILE_WORKERS": '[{"name": "w"}, {"name": "w"}]'})
    assert str(problem).startswith('TURNSTILE_WORKERS: workers[1].name: "w" is not allowed: a name that no other')


def test_the_variables_that_kubernetes_injects_for_services_are_not_overrides() -> None:
    links = {
        "TURNSTILE_SERVICE_HOST": "10.0.0.1",
        "TURNSTILE_SERVICE_PORT": "9644",
        "TURNSTILE_SERVICE_PORT_METRICS": "9644",
        "TURNSTILE_PORT": "tcp://10.0.0.1:9644",
        "TURNSTILE_PORT_9644_TCP": "tcp://10.0.0.1:9644",
        "TURNSTILE_PORT_9644_TCP_ADDR": "10.0.0.1",
        "TURNSTILE_METRICS_SERVICE_HOST": "10.0.0.2",
    }
    assert load(environ=links).configuration == load().configuration


def test_other_programs_variables_are_not_looked_at() -> None:
    environment = read_environment({"PATH": "/bin", "GATES": "{}", "HTTP": "x", "TURNSTILE_CONFIG": "/etc/x"})
    assert (environment.tree, environment.problems) == ({}, ())
