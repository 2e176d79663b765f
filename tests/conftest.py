"""What holds for all tests: property tests judge results, not speed, and what shares a server runs in one process."""

import signal
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from xdist.remote import Producer
from xdist.scheduler.loadscope import LoadScopeScheduling

from manager.logging.logs import reset_logging
from tests.conformance.servers import why_no_real_server
from tests.support.real_or_local import REAL

settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")

_LONGEST_FIRST = (
    *("e2e-one-real", "e2e-other-real", "deploy-local", "deploy-real", "e2e-local", "differential-local"),
    *("scheduler-real", "scheduler-local", "realbed-real", "realbed-local", "differential-real"),
    *("conformance-real", "conformance-local"),
)
"""Groups of tests that share servers or oracles which take long to start. A process runs a whole group, so that the
longest begin first and what is small fills the gaps."""
_ONE_HALF = frozenset({"test_lost_worker.py", "test_failover.py", "test_forecast_truth.py", "test_pod_forecasts.py"})
"""Of the tests on real clusters, by the time that they take. Each half has clusters of its own."""
_REAL_FIXTURES = frozenset({"oracle", "oracles", "helm_program", "promtool"})
"""They give a test a program that is built with Go. Suites that run on local servers too mark their own tests."""
_SUITES = {"e2e": "real Kueue", "conformance": "a real kube-apiserver"}


def pytest_configure() -> None:
    """Let processes that tests start take Ctrl-C, also if a shell started the tests in the background."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def log_of_its_own() -> None:
    """Let no test write to, or listen at, the log that another one configured."""
    reset_logging()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs real programs, and begin with what takes longest."""
    for item in items:
        if isinstance(item, pytest.Function) and not _REAL_FIXTURES.isdisjoint(item.fixturenames):
            item.add_marker(pytest.mark.real)
    items.sort(key=lambda item: _place(_group_of(item.nodeid)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    """Keep the tests of a shared server together when several processes run tests."""
    return _Groups(config, log)


class _Groups(LoadScopeScheduling):  # type: ignore[misc]  # it has no types
    """Gives a process a whole group at a time, and else a file, whose tests may share what takes long to set up."""

    def _split_scope(self, nodeid: str) -> str:
        group = _group_of(nodeid)
        return group if group in _LONGEST_FIRST else nodeid.partition("::")[0]


def _place(group: str) -> int:
    return _LONGEST_FIRST.index(group) if group in _LONGEST_FIRST else len(_LONGEST_FIRST)


def _group_of(nodeid: str) -> str:
    """Name whom a test shares servers with; most tests share none."""
    file, _, name = nodeid.partition("::")
    folder = Path(file).parts[1] if file.startswith("tests/") else ""
    if folder != "e2e":
        return f"{folder}-{'real' if 'real' in name else 'local'}"
    if "[local" in name:
        return "e2e-local"
    return "e2e-one-real" if Path(file).name in _ONE_HALF else "e2e-other-real"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what tests counted, and how many ran on real servers; of several processes only this one can."""
    passed: Counter[str] = Counter()
    for report in (each for reports in terminalreporter.stats.values() for each in reports):
        if not isinstance(report, pytest.TestReport) or report.when != "call":
            continue
        for name, value in report.user_properties:
            if name == "agreement":
                terminalreporter.write_line(str(value))
            if name == REAL:
                passed[str(value)] += report.passed
    if reason := why_no_real_server():
        terminalreporter.write_line(f"tests on real servers left out: {reason}", yellow=True)
    for suite, servers in _SUITES.items():
        if suite in passed:
            terminalreporter.write_line(f"passed on {servers}: {passed[suite]} tests of tests/{suite}")
