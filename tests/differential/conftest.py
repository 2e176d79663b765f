"""The two programs that are compared."""

import sys
from pathlib import Path

import pytest

from tests.conformance.servers import is_continuous_integration
from tests.differential.oracle import build_oracle
from tests.realbed.build import ToolchainError


@pytest.fixture(scope="session")
def oracle() -> Path:
    """Return the program that answers with real Kueue."""
    try:
        return build_oracle()
    except ToolchainError as error:
        if is_continuous_integration():
            raise
        pytest.skip(f"no real Kueue to compare with: {error}")


@pytest.fixture(scope="session")
def engine() -> list[str | Path]:
    """Return the command line of the engine's batch mode."""
    return [sys.executable, "-m", "manager", "predict", "--batch"]
