"""What holds for all tests: property tests judge results, not speed, and what shares a server runs in one process."""

from pathlib import Path

import pytest
import structlog
from hypothesis import HealthCheck, settings

from manager import logs
from tests.conformance.servers import why_no_real_server

settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")

_HERE = Path(__file__).parent
_SHARING = frozenset({"conformance", "deploy", "differential", "e2e", "realbed", "scheduler"})
"""Folders whose tests share servers or oracles that take long to start."""


@pytest.fixture(autouse=True)
def log_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no test write to, or listen at, the log that another one configured."""
    monkeypatch.setattr(logs, "_log", None)
    structlog.reset_defaults()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the tests of a shared server together when several processes run tests."""
    for item in items:
        folder = item.path.relative_to(_HERE).parts[0] if item.path.is_relative_to(_HERE) else ""
        if folder in _SHARING:
            kind = "real" if "real" in item.name else "local"
            item.add_marker(pytest.mark.xdist_group(f"{folder}-{kind}"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what tests counted, and why nothing ran on real servers; of several processes only this one can."""
    for report in (each for reports in terminalreporter.stats.values() for each in reports):
        for name, value in getattr(report, "user_properties", ()):
            if name == "agreement" and report.when == "call":
                terminalreporter.write_line(str(value))
    if reason := why_no_real_server():
        terminalreporter.write_line(f"tests on real servers left out: {reason}", yellow=True)
