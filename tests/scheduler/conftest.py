"""The programs that are compared."""

import sys
from pathlib import Path

import pytest

from tests.conformance.servers import is_continuous_integration
from tests.realbed.build import ToolchainError
from tests.scheduler.oracle import Oracles, build_oracles


@pytest.fixture(scope="session")
def oracles() -> Oracles:
    """Return the programs that answer with real kube-scheduler, by release."""
    try:
        return build_oracles()
    except ToolchainError as error:
        if is_continuous_integration():
            raise
        pytest.skip(f"no real kube-scheduler to compare with: {error}")


@pytest.fixture(scope="session")
def engine() -> list[str | Path]:
    """Return the command line of the engine's batch mode."""
    return [sys.executable, "-m", "manager", "predict-pods", "--batch"]
