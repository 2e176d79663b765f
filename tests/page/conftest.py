"""One browser for all tests of the page; where there is none, they are skipped and say how to get one."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, async_playwright

from tests.page.browsing import MISSING, chromium, launch


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    if chromium() is None:
        pytest.skip(MISSING)
    async with async_playwright() as playwright:
        started = await launch(playwright)
        try:
            yield started
        finally:
            await started.close()
