"""The page says what `turnstile explain` says: both make sentences from the same documents, and they are compared."""

from collections.abc import Iterator
from itertools import product
from typing import Any, get_args

import pytest
from playwright.async_api import Browser

from config.api.meta import parse_time
from gates.model.rules import Rule
from gates.reports.explanation import NextKind, ReplicaState
from gates.reports.hub_state import HubReason
from manager.cli.ask.explain_report import says_sentence, worker_sentence
from manager.cli.ask.next_sentences import next_sentence, state_message, state_sentence
from manager.cli.conventions.ages import span
from manager.page.assets import page_assets
from tests.page.browsing import looking
from tests.page.scripted import ScriptedDaemon, explained

pytestmark = pytest.mark.asyncio(loop_scope="session")
NOW = "2025-06-15T15:08:00Z"
Obj = dict[str, Any]


def steps() -> Iterator[Obj]:
    step = {"worker": "east", "otherWorker": "north", "reason": "", "rule": "", "actions": []}
    for kind, at in product(NextKind, ("", "2025-06-15T15:08:45Z", "2025-06-15T15:14:02Z")):
        yield {**step, "kind": str(kind), "at": at}
    yield {**step, "kind": "GateDeferred", "at": "2025-06-15T15:08:45Z", "reason": "a forecast is being made"}
    yield {**step, "kind": "FromALaterVersion", "at": ""}
    for rule, reason in product([*Rule, "from-a-later-version"], ("", "because")):
        yield {**step, "kind": "Other", "at": "", "rule": str(rule), "reason": reason}


def states() -> Iterator[Obj]:
    for reason, since in product([*HubReason, "FromALaterVersion"], ("", "2025-06-15T12:00:00Z")):
        yield {"reason": str(reason), "message": "what Kueue says", "since": since, "check": "mk",
               "deactivatedBy": "an operator", "requeueAt": "", "remedy": "do this"}  # fmt: skip


def documents() -> list[Obj]:
    body = {**explained(), "asOf": NOW, "now": NOW}
    found = [{**body, "next": step} for step in steps()]
    found += [{**body, "state": state, "cluster": cluster} for state, cluster in product(states(), ("", "east"))]
    return [
        *found,
        {**body, "problem": "spec is no object", "state": None, "next": {**body["next"], "kind": "FixNeeded"}},
    ]


def workers() -> list[Obj]:
    first = explained()["workers"][0]
    replica = {"since": NOW, "message": "insufficient quota"}
    found = [{**first, "replica": {**replica, "state": str(state)}} for state in [*ReplicaState, "Later"]]
    found += [{**each, "ruledOut": {"rule": "Named", "message": "the job names others"}} for each in found]
    forecast = {**first["forecast"], "otherFlavors": [{"cpu": ["spot"]}], "borrowing": 1}
    for verdict, reliable in product(("Fits", "Preempts", "Cannot", "Unsupported", "Ambiguous"), (True, False)):
        found.append({**first, "preemption": None, "forecast": {**forecast, "verdict": verdict, "reliable": reliable}})
    costly = {**forecast, "cost": {**forecast["cost"], "preemptionCost": 7}}
    return [*found, {**first, "preemption": None, "forecast": costly}, {**first, "preemption": None, "forecast": None}]


async def test_page_and_command_use_the_same_sentences(browser: Browser) -> None:
    bodies, each_worker = documents(), workers()
    seconds = [*range(0, 700, 7), 3599, 3600, 10_799, 10_800, 12_000, 28_799, 28_800, 172_799, 172_800, 10**7]
    expected = {
        "next": [next_sentence(body) for body in bodies],
        "state": [state_sentence(body) for body in bodies],
        "message": [state_message(body) for body in bodies],
        "says": [says_sentence(worker) for worker in each_worker],
        "worker": [worker_sentence(worker) for worker in each_worker],
        "span": [span(each) for each in seconds],
    }
    script = """async ([file, now, bodies, workers, seconds]) => {
      const text = await import(file);
      return {
        next: bodies.map((body) => text.nextSentence(body, now)),
        state: bodies.map((body) => text.stateSentence(body, now)),
        message: bodies.map((body) => text.stateMessage(body)),
        says: workers.map((worker) => text.saysSentence(worker)),
        worker: workers.map((worker) => text.workerSentence(worker)),
        span: seconds.map((each) => text.span(each)),
      };
    }"""
    async with ScriptedDaemon().serving() as daemon, looking(browser, daemon.address) as look:
        await look.sees("Nothing needs you")
        file = f"./{page_assets().digest}/text.js"
        arguments = [f"/ui/{file}", parse_time(NOW) // 1_000_000, bodies, each_worker, seconds]
        assert await look.page.evaluate(script, arguments) == expected
    assert len(set(expected["next"])) > len(get_args(NextKind)) + 30


LAYOUTS: dict[str, tuple[str, Any]] = {
    "a lane is lit while its window runs": (
        "lanes.isLit({opened: at(0), windowEnds: at(10)}, 'Pending', 5000)",
        True,
    ),
    "not once it is over": ("lanes.isLit({opened: at(0), windowEnds: at(10)}, 'Pending', 10000)", False),
    "not once quota is reserved": ("lanes.isLit({opened: at(0), windowEnds: at(10)}, 'QuotaReserved', 5000)", False),
    "not before it is opened": ("lanes.isLit({opened: '', windowEnds: ''}, 'Pending', 5000)", False),
    "a lane waits, asks, is open, and its window ends": (
        "lanes.segments({worker: 'a', created: at(1), asksSince: at(4), opened: at(8), windowEnds: at(12)},"
        "[], 0, 20000).map((part) => [part.state, part.from, part.to])",
        [["Waiting", 1000, 4000], ["Asks", 4000, 8000], ["Open", 8000, 12_000], ["WindowOver", 12_000, 20_000]],
    ),
    "the journal tells what the worker no longer shows": (
        "lanes.segments({worker: 'a'}, [['Replicated', 1], ['Signalled', 3], ['GateOpened', 5], ['Removed', 9]]"
        ".map(([event, s]) => ({event, worker: 'a', time: at(s)})), 0, 20000).map((part) => [part.state, part.to])",
        [["Waiting", 3000], ["Asks", 5000], ["Open", 9000], ["Withdrawn", 9000]],
    ),
    "whole seconds of Kubernetes do not turn the order round": (
        "lanes.segments({worker: 'a', created: at(1.4), asksSince: at(1)}, [], 0, 5000).map((part) => part.state)",
        ["Asks"],
    ),
    "events of an earlier attempt are left out": (
        "lanes.segments({worker: 'a', created: at(60)}, [{event: 'GateOpened', worker: 'a', time: at(5)}],"
        "50000, 70000).map((part) => part.state)",
        ["Waiting"],
    ),
    "a lost worker is lost from then on": (
        "lanes.segments({worker: 'a', created: at(1), reach: 'lost', lostSince: at(5)}, [], 0, 9000)"
        ".map((part) => [part.state, part.to])",
        [["Waiting", 5000], ["Lost", 9000]],
    ),
    "idle time is folded": (
        "(({gaps, x}) => [gaps.length, Math.round(x(0)), Math.round(x(3610000))])"
        "(lanes.scale([0, 5000, 3605000, 3610000], []))",
        [1, 0, 100],
    ),
    "but not while a gate is open": (
        "lanes.scale([0, 5000, 3605000, 3610000], [{from: 0, to: 3610000}]).gaps.length",
        0,
    ),
    "an axis has few marks": ("lanes.ticks(lanes.scale([0, 86400000], [{from: 0, to: 86400000}])).length <= 12", True),
    "an answer of a later version is a link of its own": (
        "store.link(['workloads', 'a/b', 'ü'], {q: '', worker: 'x&y'})",
        "#/workloads/a%2Fb/%C3%BC?worker=x%26y",
    ),
    "and is read back": ("store.parseRoute('#/workloads/a%2Fb/%C3%BC?worker=x%26y').parts", ["workloads", "a/b", "ü"]),
    "events arrive in pieces": (
        "(([events, rest]) => [events[0].name, events[0].id, events[0].data.a, rest])"
        "(wire.parseEvents('event: rows\\nid: e-1\\ndata: {\"a\":1}\\n\\nevent: be'))",
        ["rows", "e-1", 1, "event: be"],
    ),
    "tries are half a second apart at first": ("wire.retryDelay(0, 1)", 500),
    "and never more than 15 s": ("wire.retryDelay(50, 1)", 15_000),
}


async def test_pure_modules(browser: Browser) -> None:
    async with ScriptedDaemon().serving() as daemon, looking(browser, daemon.address) as look:
        await look.sees("Nothing needs you")
        cases = ",\n".join(f"() => {expression}" for expression, _ in LAYOUTS.values())
        script = f"""async (folder) => {{
          const names = ["lanes", "store", "wire"];
          const [lanes, store, wire] = await Promise.all(names.map((name) => import(`${{folder}}${{name}}.js`)));
          const at = (s) => new Date(s * 1000).toISOString();
          return [{cases}].map((each) => each());
        }}"""
        found = await look.page.evaluate(script, f"/ui/{page_assets().digest}/")
        assert dict(zip(LAYOUTS, found, strict=True)) == {name: want for name, (_, want) in LAYOUTS.items()}
