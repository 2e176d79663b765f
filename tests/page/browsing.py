"""A real browser for the page, and what is wrong with what it did: errors, violations, requests to elsewhere."""

import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.async_api import Browser, Locator, Page, Playwright, expect

ARGUMENTS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage"),
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]
WIDE, PHONE = (1280, 860), (390, 844)
PATIENCE_MS = 30_000
AXE_TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
_AXE = (files("axe_playwright_python") / "axe.min.js").read_text()
_VIOLATIONS = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) => window.violations.push(event.violatedDirective));
"""


def chromium() -> str | None:
    """Return a browser that is installed here."""
    named = os.environ.get("TURNSTILE_CHROMIUM")
    found = (shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome"))
    return named or next(filter(None, found), None)


MISSING = "no Chromium: install Debian's package chromium, or set TURNSTILE_CHROMIUM to a browser's path"


async def launch(playwright: Playwright) -> Browser:
    """Start the browser, which reaches nothing but loopback."""
    return await playwright.chromium.launch(executable_path=chromium(), args=ARGUMENTS)


@dataclass
class Look:
    """One tab, and everything that went wrong in it."""

    page: Page
    problems: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    is_failing: bool = False
    """Whether failing requests are what the test is about: the browser logs each of them."""

    def __post_init__(self) -> None:
        self.page.set_default_timeout(PATIENCE_MS)
        expect.set_options(timeout=PATIENCE_MS)
        self.page.on("console", lambda message: self._note(message.type, message.text))
        self.page.on("pageerror", lambda error: self.problems.append(f"error: {error}"))
        self.page.on("request", lambda request: self.requests.append(request.url))

    def _note(self, kind: str, text: str) -> None:
        if kind in ("error", "warning") and not (self.is_failing and "Failed to load resource" in text):
            self.problems.append(f"console: {text}")

    async def go(self, place: str) -> None:
        """Follow a link."""
        await self.page.evaluate("(place) => { location.hash = place; }", place)

    def text(self, words: str) -> Locator:
        return self.page.get_by_text(words)

    async def sees(self, words: str) -> None:
        """Wait until the page says something."""
        await expect(self.page.locator("#page")).to_contain_text(words)

    async def sees_not(self, words: str) -> None:
        await expect(self.page.locator("#page")).not_to_contain_text(words)

    async def axe(self) -> list[str]:
        """Return what axe-core finds, as short texts."""
        await self.page.evaluate(_AXE)
        options = {"runOnly": {"type": "tag", "values": AXE_TAGS}, "resultTypes": ["violations"]}
        found: Any = await self.page.evaluate("(options) => axe.run(document, options)", options)
        return [
            f"{each['id']}: {node['html'][:120]} {node['failureSummary'][:200]}"
            for each in found["violations"]
            for node in each["nodes"]
        ]

    async def is_clean(self) -> None:
        """Fail if anything went wrong, was refused by the policy, or went elsewhere."""
        violations = await self.page.evaluate("window.violations")
        crashed = await self.page.evaluate("document.body.dataset.crashed ?? ''")
        origin = urlsplit(self.page.url).netloc
        elsewhere = [url for url in self.requests if urlsplit(url).netloc != origin]
        assert (self.problems, violations, crashed, elsewhere) == ([], [], "", [])


@asynccontextmanager
async def looking(
    browser: Browser, address: str, *, theme: str = "light", size: tuple[int, int] = WIDE
) -> AsyncIterator[Look]:
    """Open the page in a tab of its own, which remembers nothing of others."""
    context = await browser.new_context(
        viewport={"width": size[0], "height": size[1]},
        color_scheme="dark" if theme == "dark" else "light",
        reduced_motion="reduce",
        timezone_id="UTC",
        locale="en-GB",
    )
    try:
        await context.add_init_script(_VIOLATIONS)
        look = Look(await context.new_page())
        await look.page.goto(address)
        yield look
    finally:
        await context.close()


async def picture(look: Look, path: Path) -> None:
    """Take a picture of the whole page."""
    await look.page.screenshot(path=path, full_page=True)
