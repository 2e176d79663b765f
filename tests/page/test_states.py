"""Each state that the page can be in: never blank, and nothing is called empty before that is known."""

import pytest
from playwright.async_api import Browser, expect

from tests.page.browsing import looking
from tests.page.scripted import DAEMON, Obj, ScriptedDaemon, ago, explained, lane, row, worker

pytestmark = pytest.mark.asyncio(loop_scope="session")
TRAINING = "#/workloads/team/training"


async def test_nothing_is_called_empty_before_everything_is_known(browser: Browser) -> None:
    async with ScriptedDaemon(is_synced=False).serving() as daemon, looking(browser, daemon.address) as look:
        await expect(look.page.locator(".skeleton").first).to_be_visible()
        await look.sees_not("Nothing needs you")
        await look.go("#/workloads")
        await expect(look.page.locator("h1")).to_have_text("Workloads")
        await look.sees_not("No Workload waits")
        daemon.send("synced", {"topics": []})
        await look.sees("No Workload waits")
        await look.go("#/")
        await look.sees("Nothing needs you. 0 wait, 7 run.")
        await look.is_clean()


async def test_rows_change_while_one_looks(browser: Browser) -> None:
    async with ScriptedDaemon().serving() as daemon, looking(browser, f"{daemon.address}#/workloads") as look:
        await look.sees("No Workload waits")
        open_lane = lane("east", gate="Open", opened=ago(10), windowEnds=ago(-290))
        daemon.put("waiting", {"team/training": row(100, [open_lane, lane("north")])})
        await look.sees("1 Workload")
        await expect(look.page.locator("tr.lit")).to_have_count(1)
        daemon.put("waiting", {}, ["team/training"])
        await look.sees("No Workload waits")
        await look.is_clean()


async def test_a_cut_stream_says_how_old_everything_is_and_resumes_without_a_snapshot(browser: Browser) -> None:
    made = ScriptedDaemon(rows={"waiting": {"team/a": row()}})
    async with made.serving() as daemon, looking(browser, f"{daemon.address}#/workloads") as look:
        look.is_failing = True
        await look.sees("team/a")
        daemon.refusal = (500, "out of order")
        daemon.cut()
        await look.sees("Not connected since")
        await expect(look.page.locator("html")).to_have_class("stale")
        daemon.refusal = None
        await look.sees_not("Not connected since")
        await look.sees("team/a")
        assert daemon.resumed[-1].startswith(daemon.epoch)


async def test_another_daemon_is_told_and_an_upgrade_offers_to_reload(browser: Browser) -> None:
    made = ScriptedDaemon(rows={"waiting": {"team/a": row()}})
    async with made.serving() as daemon, looking(browser, f"{daemon.address}#/workloads") as look:
        await look.sees("team/a")
        daemon.epoch, daemon.rows["waiting"] = "bbbbbbbbbbbb", {"team/b": row()}
        daemon.cut()
        await look.sees("The daemon was started again")
        await look.sees("team/b")
        await look.sees_not("team/a")
        daemon.epoch, daemon.daemon["version"] = "cccccccccccc", "0.2.0"
        daemon.cut()
        await look.sees("The daemon is of version 0.2.0 now")


NOTICES: dict[str, tuple[Obj, str]] = {
    "a standby": ({"acts": False, "leader": "pod-2"}, "This instance stands by; pod-2 leads."),
    "shadow mode": ({"isShadow": True, "acts": False}, "Shadow mode: Turnstile looks on"),
    "an unreadable hub": ({"hub": "Lost"}, "The hub cannot be read (Lost)"),
}


async def test_notices_about_the_daemon(browser: Browser) -> None:
    for change, words in NOTICES.values():
        made = ScriptedDaemon(daemon={**DAEMON, **change})
        async with made.serving() as daemon, looking(browser, daemon.address) as look:
            await look.sees(words)


async def test_without_a_token_one_can_sign_in_and_a_wrong_one_is_refused(browser: Browser) -> None:
    made = ScriptedDaemon(token="the-right-token")
    async with made.serving() as daemon, looking(browser, daemon.address) as look:
        look.is_failing = True
        await look.sees("Sign in")
        await look.page.get_by_label("Token").fill("wrong")
        await look.page.get_by_role("button", name="Sign in").click()
        await look.sees("a valid bearer token is required")
        assert await look.axe() == []
        await look.page.get_by_label("Token").fill("the-right-token")
        await look.page.keyboard.press("Enter")
        await look.sees("Nothing needs you")
        assert await look.page.evaluate("JSON.stringify([sessionStorage, localStorage])") == "[{},{}]"
        assert await look.page.context.cookies() == []


REFUSALS = {
    "a user without the role": (403, "this token does not permit get on this path", "turnstile-inspector"),
    "a hub that cannot be asked": (503, "the token cannot be checked now", "The token cannot be checked now"),
    "a daemon in trouble": (500, "out of order", "The daemon cannot be asked: out of order"),
}


async def test_refusals(browser: Browser) -> None:
    for status, told, words in REFUSALS.values():
        made = ScriptedDaemon(refusal=(status, told))
        async with made.serving() as daemon, looking(browser, daemon.address) as look:
            await look.sees(words)


async def test_a_token_that_is_taken_back_asks_for_another(browser: Browser) -> None:
    async with ScriptedDaemon().serving() as daemon, looking(browser, daemon.address) as look:
        await look.sees("Nothing needs you")
        daemon.send("bye", {"why": "revoked", "retryMs": 1000})
        daemon.cut()
        await look.sees("Sign in")
        await look.sees("may not read any more")


async def test_the_seventeenth_viewer_asks_instead(browser: Browser) -> None:
    made = ScriptedDaemon(rows={"waiting": {"team/a": row()}}, is_crowded=True, workload=explained(), events=[])
    async with made.serving() as daemon, looking(browser, f"{daemon.address}#/workloads") as look:
        look.is_failing = True
        await look.sees("16 viewers are connected already. This page asks every 10 s instead.")
        await look.sees("team/a")


async def test_a_workload_that_is_gone_shows_its_last_life(browser: Browser) -> None:
    events = [
        {"time": ago(100), "event": "QuotaReserved", "worker": "", "message": "", "details": {}},
        {"time": ago(99), "event": "Replicated", "worker": "east", "message": "gate closed", "details": {}},
        {"time": ago(90), "event": "Removed", "worker": "east", "message": "the Workload was deleted", "details": {}},
    ]
    made = ScriptedDaemon(events=events)
    async with made.serving() as daemon, looking(browser, f"{daemon.address}{TRAINING}") as look:
        await look.sees("There is no such Workload on the hub")
        await look.sees("the Workload was deleted")
        await expect(look.page.locator(".lane")).to_have_count(1)
        daemon.events = None
        look.is_failing = True
        await look.go("#/workloads/team/nobody")
        await look.sees("The journal knows nothing of it either.")


async def test_an_unreadable_workload_and_a_link_of_a_later_version(browser: Browser) -> None:
    broken = explained(phase="Unreadable", problem="spec.podSets: is no list", state=None)
    made = ScriptedDaemon(workload=broken, events=[])
    async with made.serving() as daemon, looking(browser, f"{daemon.address}{TRAINING}") as look:
        await look.sees("spec.podSets: is no list")
        await look.go("#/hologram/7?depth=3")
        await look.sees("The link may be of a later version")
        await look.is_clean()


async def test_two_open_gates_are_shown_with_the_alarm(browser: Browser) -> None:
    document = explained()
    document["lanes"][1] |= {"opened": ago(5), "windowEnds": ago(-295)}
    document["workers"][1]["replica"] = {"state": "Pending", "since": "", "message": ""}
    made = ScriptedDaemon(workload=document, events=[])
    async with made.serving() as daemon, looking(browser, f"{daemon.address}{TRAINING}") as look:
        await look.sees("east and north may preempt at the same time")
        await look.sees("one_gate_per_timeout")
        await expect(look.page.locator(".lane.lit")).to_have_count(2)


async def test_what_needs_somebody_has_a_remedy_and_a_lost_worker_is_told(browser: Browser) -> None:
    item = {"severity": "critical", "kind": "Worker", "name": "west", "message": "west is lost: no route to host",
            "since": ago(360), "remedy": "turnstile doctor --worker west", "alert": "TurnstileWorkerLost"}  # fmt: skip
    rows = {"attention": {"worker/west": item}, "workers": {"west": worker("west", "Lost")}}
    async with ScriptedDaemon(rows=rows).serving() as daemon, looking(browser, daemon.address) as look:
        await look.sees("west is lost: no route to host")
        await look.sees("turnstile doctor --worker west")
        await look.sees("0 of 1 connected")
        await look.is_clean()


async def test_a_worker_that_is_lost_one_without_forecasts_and_one_that_is_not_there(browser: Browser) -> None:
    rows = {"workers": {"west": worker("west", "Lost"), "off": worker("off", forecast="off", hitRate=None)}}
    made = ScriptedDaemon(rows=rows)
    async with made.serving() as daemon, looking(browser, f"{daemon.address}#/workers/west") as look:
        await look.sees("west takes no part.")
        await look.sees("cohort lab")
        await look.go("#/workers/off")
        await look.sees("Forecasts are off (forecast.enabled), so quota is not followed.")
        await look.go("#/workers/nobody")
        await look.sees("There is no worker of this name in the configuration.")
        await look.go("#/workers")
        await look.sees("! lost for")
        await look.is_clean()


async def test_hostile_texts_stay_text(browser: Browser) -> None:
    evil = "<img src=x onerror=\"document.body.dataset.crashed='pwned'\">\u202e<script>1</script>" + "x" * 16_000
    victims = [{**explained()["workers"][0]["forecast"]["victims"][0], "workload": f"team/{i}<b>"} for i in range(2000)]
    document = explained(owner=evil, queue=evil, clusterQueue="{{7*7}}")
    document["workers"][1]["forecast"] |= {"victims": victims, "message": evil}
    events = [{"time": ago(30), "event": "Created", "worker": "", "message": evil, "details": {}}]
    rows = {"waiting": {"team/training": row(message=evil, owner=evil, queue=evil, lanes=[])}}
    made = ScriptedDaemon(rows=rows, workload=document, events=events)
    async with made.serving() as daemon, looking(browser, f"{daemon.address}{TRAINING}") as look:
        await look.sees("<img src=x onerror=")
        await look.go("#/workloads")
        await look.sees("<img src=x onerror=")
        assert await look.page.locator("#page img, #page script, #page b").count() == 0
        await look.is_clean()


async def test_thousands_of_rows_take_few_elements(browser: Browser) -> None:
    rows = {"waiting": {f"team/w{number:05}": row(number) for number in range(5000)}, "fleet": {"": {"leftOut": 1234}}}
    made = ScriptedDaemon(rows=rows)
    async with made.serving() as daemon, looking(browser, f"{daemon.address}#/workloads") as look:
        await look.sees("5,000 Workloads · the most urgent of 6,234; 1,234 are left out")
        count = "document.querySelectorAll('*').length"
        assert await look.page.evaluate(count) < 3000
        await look.page.locator(".rows").evaluate("(place) => { place.scrollTop = place.scrollHeight; }")
        await look.sees("team/w00000")
        assert await look.page.evaluate(count) < 3000
        await look.page.get_by_label("Find", exact=True).fill("w04999")
        await look.sees("1 Workload")
        assert "q=w04999" in look.page.url
        await look.is_clean()


async def test_the_order_holds_still_while_one_points_at_it(browser: Browser) -> None:
    rows = {"waiting": {"team/a": row(2), "team/b": row(1)}}
    made = ScriptedDaemon(rows=rows)
    async with made.serving() as daemon, looking(browser, f"{daemon.address}#/workloads") as look:
        names = look.page.locator("tbody th a")
        await expect(names).to_have_text(["team/a", "team/b"])
        await names.first.hover()
        daemon.put("waiting", {"team/b": row(5)})
        await look.sees("of order · apply")
        await expect(names).to_have_text(["team/a", "team/b"])
        await look.page.get_by_role("button", name="apply").click()
        await expect(names).to_have_text(["team/b", "team/a"])


async def test_focus_survives_updates(browser: Browser) -> None:
    rows = {"waiting": {f"team/{name}": row(1) for name in "abc"}}
    made = ScriptedDaemon(rows=rows)
    async with made.serving() as daemon, looking(browser, f"{daemon.address}#/workloads") as look:
        await look.sees("team/b")
        await look.page.locator("tbody th a").nth(1).focus()
        daemon.put("waiting", {"team/a": row(0, message="news"), "team/d": row(9)})
        await look.sees("team/d")
        assert await look.page.evaluate("document.activeElement.textContent") == "team/b"


async def test_the_first_visit_takes_few_requests(browser: Browser) -> None:
    async with ScriptedDaemon().serving() as daemon, looking(browser, daemon.address) as look:
        await look.sees("Nothing needs you")
        assert len(look.requests) <= 12
