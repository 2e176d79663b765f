"""The page on a real daemon: jobs in different states on three workers, by mouse, by keys, in every theme and width."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from manager.cli.ask.next_sentences import next_sentence
from manager.page.loopback import LoopbackPage, PageTarget
from manager.serving.socket_server import serve_api
from tests.integration.orchestrator.asking import Asker, asking
from tests.integration.orchestrator.world import World
from tests.page.browsing import PHONE, WIDE, Look, looking, picture
from tests.screens.top import playing

pytestmark = pytest.mark.asyncio(loop_scope="session")
VIEWS = {
    "fleet": "#/",
    "workloads": "#/workloads",
    "workers": "#/workers",
    "worker": "#/workers/north",
    "workload": "#/workloads/team/training",
}
SEEN = {"workers": "connected", "worker": "ClusterQueue"}
PICTURES = os.environ.get("TURNSTILE_PAGE_PICTURES")
"""Where `make page-pictures` wants them."""


@dataclass
class Stage:
    """A daemon in virtual time, and its page."""

    made: World
    page: LoopbackPage
    asker: Asker

    async def until_sees(self, look: Look, words: str) -> None:
        """Let a little time pass until the page says something."""
        seeing = asyncio.ensure_future(look.sees(words))
        while not seeing.done():
            await self.made.clock.advance(0.25)
            await asyncio.wait([seeing], timeout=0.05)
        await seeing


@asynccontextmanager
async def staged(directory: Path) -> AsyncIterator[Stage]:
    async with playing(directory) as made, asking(made, directory) as asker:
        assert made.daemon is not None
        socket = directory / "page"
        serving = made.lag.create_task(serve_api(socket, made.daemon.inspector))
        await made.until(socket.is_socket)
        page = LoopbackPage(PageTarget(socket))
        try:
            async with page.serving():
                yield Stage(made, page, asker)
        finally:
            serving.cancel()


async def test_every_view_in_every_theme_and_width(browser: Browser, tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        for theme in ("light", "dark"):
            for size in (WIDE, PHONE):
                async with looking(browser, stage.page.address, theme=theme, size=size) as look:
                    for name, place in VIEWS.items():
                        await look.go(place)
                        await stage.until_sees(look, SEEN.get(name, "team/training"))
                        if name == "workload":
                            await stage.until_sees(look, "GateOpened")
                        await look.page.wait_for_timeout(100)
                        assert await look.axe() == [], (name, theme, size)
                        wide = await look.page.evaluate("document.documentElement.scrollWidth - innerWidth")
                        assert wide <= 0, (name, theme, size)
                        if PICTURES:
                            await picture(look, Path(PICTURES, f"page-{name}-{theme}-{size[0]}.png"))
                    await look.is_clean()


async def test_the_sentence_is_that_of_explain_and_one_lane_is_lit(browser: Browser, tmp_path: Path) -> None:
    async with staged(tmp_path) as stage, looking(browser, stage.page.address) as look:
        assert "k=" not in look.page.url
        await look.go(VIEWS["workload"])
        await stage.until_sees(look, "north may preempt, alone.")
        await expect(look.page.locator("[data-lit]")).to_have_count(1)
        _, body = await stage.asker.get("workloads/team/training/explanation")
        words = next_sentence({**body, "asOf": body["now"]})
        stem = words.split(" in ")[0]
        await stage.until_sees(look, f"Next: {stem}")
        await look.page.get_by_role("button", name="as table").click()
        await expect(look.page.get_by_role("row").filter(has_text="north").first).to_contain_text("open")
        await look.is_clean()


async def test_the_one_light_moves_to_the_next_worker(browser: Browser, tmp_path: Path) -> None:
    async with staged(tmp_path) as stage, looking(browser, stage.page.address) as look:
        await look.go(VIEWS["workload"])
        await stage.until_sees(look, "north may preempt, alone.")
        watch = """() => {
          window.most = 0;
          new MutationObserver(() => {
            window.most = Math.max(window.most, document.querySelectorAll("[data-lit]").length);
          }).observe(document.getElementById("page"), { subtree: true, childList: true, attributes: true });
        }"""
        await look.page.evaluate(watch)
        await stage.made.pass_time(300)
        await stage.made.until(lambda: stage.made["east"].gate("training") == "Open")
        await stage.until_sees(look, "east")
        await stage.until_sees(look, "admitted")
        assert await look.page.evaluate("window.most") <= 1
        await look.is_clean()


async def test_the_incident_by_keys_only(browser: Browser, tmp_path: Path) -> None:
    async with staged(tmp_path) as stage, looking(browser, stage.page.address) as look:
        keys = look.page.keyboard
        await stage.until_sees(look, "team/training")
        await keys.press("g")
        await keys.press("w")
        await stage.until_sees(look, "2 Workloads")
        await keys.press("j")
        await keys.press("j")
        assert await look.page.evaluate("document.activeElement.textContent") == "team/evaluation"
        await keys.press("k")
        await keys.press("Enter")
        await stage.until_sees(look, "north may preempt, alone.")
        await keys.press("/")
        await keys.type("evaluation")
        await keys.press("Enter")
        await expect(look.page.locator("h1")).to_have_text("team/evaluation")
        await stage.until_sees(look, "Lanes")
        await keys.press("t")
        await expect(look.page.get_by_role("columnheader", name="gate opened")).to_be_visible()
        await keys.press("?")
        await expect(look.page.get_by_role("dialog")).to_be_visible()
        assert await look.axe() == []
        await keys.press("Escape")
        await expect(look.page.get_by_role("dialog")).to_have_count(0)
        await look.is_clean()
