"""What suites for local and real servers share: one event loop, and no real tests where there can be no real server."""

from collections.abc import Callable
from pathlib import Path

import pytest
import pytest_asyncio

from tests.conformance.servers import why_no_real_server

REAL = "real"
"""The property of a test's report that names the suite which it was part of on real servers."""


def arrange(
    config: pytest.Config, items: list[pytest.Item], folder: Path, runs_on_real: Callable[[pytest.Function], bool]
) -> None:
    """Let the tests of a folder share one loop, and leave out those on a real server if there can be none.

    Left out rather than skipped: a skip would say the same in a line for each test.
    """
    ours = [item for item in items if item.path.is_relative_to(folder)]
    for item in ours:
        if pytest_asyncio.is_async_test(item):
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)
    real = {item for item in ours if isinstance(item, pytest.Function) and runs_on_real(item)}
    for item in real:
        item.user_properties.append((REAL, folder.name))
        item.add_marker(pytest.mark.real)
    if real and why_no_real_server():
        config.hook.pytest_deselected(items=list(real))
        items[:] = [item for item in items if item not in real]
