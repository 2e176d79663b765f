"""What holds for all tests: property tests judge results, not speed, and what shares a server runs in one process."""

from collections import Counter
from pathlib import Path

import pytest
import structlog
from hypothesis import HealthCheck, settings

from manager import logs
from tests.conformance.servers import why_no_real_server
from tests.real_or_local import REAL

settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")

_HERE = Path(__file__).parent
_LONGEST_FIRST = (
    *("e2e-one-real", "e2e-other-real", "deploy-local", "deploy-real", "e2e-local", "differential-local"),
    *("scheduler-real", "scheduler-local", "realbed-real", "realbed-local", "differential-real"),
    *("conformance-real", "conformance-local"),
)
"""Groups of tests that share servers or oracles which take long to start. A process runs a whole group, so that the
longest begin first and what is small fills the gaps."""
_ONE_HALF = frozenset({"test_lost_worker.py", "test_failover.py", "test_forecast_truth.py", "test_pod_forecasts.py"})
"""Of the tests on real clusters, by the time that they take. Each half has clusters of its own."""
_SUITES = {"e2e": "real Kueue", "conformance": "a real kube-apiserver"}
_OTHERS = len(_LONGEST_FIRST)


@pytest.fixture(autouse=True)
def log_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no test write to, or listen at, the log that another one configured."""
    monkeypatch.setattr(logs, "_log", None)
    structlog.reset_defaults()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the tests of a shared server together when several processes run tests."""
    groups = {item: _group_of(item) for item in items}
    for item, group in groups.items():
        if group in _LONGEST_FIRST:
            item.add_marker(pytest.mark.xdist_group(group))
    items.sort(key=lambda item: _LONGEST_FIRST.index(groups[item]) if groups[item] in _LONGEST_FIRST else _OTHERS)


def _group_of(item: pytest.Item) -> str:
    """Name whom a test shares servers with; most tests share none."""
    folder = item.path.relative_to(_HERE).parts[0] if item.path.is_relative_to(_HERE) else ""
    if folder != "e2e":
        return f"{folder}-{'real' if 'real' in item.name else 'local'}"
    if "[local" in item.name:
        return "e2e-local"
    return "e2e-one-real" if item.path.name in _ONE_HALF else "e2e-other-real"


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
