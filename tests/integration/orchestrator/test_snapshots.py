"""A snapshot only reads: however often the state is asked for, nothing changes that a decision depends on."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from types import MemberDescriptorType

from config.api.meta import ObjectKey
from gates.model import local_actions as act
from gates.model.view import Reach
from gates.wire.records import HubRecord
from manager.reconcile.reconciliation import Reconciliation
from tests.integration.orchestrator.forecasting import forecasting, passing, queue, result, submit, tenant
from tests.integration.orchestrator.timing import pending
from tests.integration.orchestrator.world import World, running
from tests.support.builders import Builder

TIMES = 3
CACHES = {"_answers"}
"""Forecasts that would be the same if they were made again."""
ONE_FREE: dict[str, list[Builder]] = {"w1": [queue(), tenant("low")], "w2": [queue()]}
FREE: dict[str, list[Builder]] = {"w1": [queue(3)], "w2": [queue(3)]}


def state(value: object, path: str, seen: set[int]) -> Iterator[tuple[str, str]]:
    """Yield everything that the daemon's own objects hold, place by place; models and clients count as one value."""
    if isinstance(value, asyncio.Event):
        yield path, str(value.is_set())
    elif isinstance(value, Mapping):
        yield path, str(len(value))
        for key, entry in value.items():
            yield from state(entry, f"{path}[{key}]", seen)
    elif isinstance(value, list | tuple | set | frozenset) or type(value).__name__ == "deque":
        yield path, str(len(value))  # type: ignore[arg-type]
        for index, entry in enumerate(value):  # type: ignore[arg-type]
            yield from state(entry, f"{path}[{index}]", seen)
    elif is_own(value):
        if id(value) not in seen:
            seen.add(id(value))
            for name in sorted(attributes(value) - CACHES):
                yield from state(getattr(value, name), f"{path}.{name}", seen)
    elif isinstance(value, str | bytes | int | float | None | Enum) or type(value).__module__.startswith("gates."):
        yield path, repr(value)


def attributes(value: object) -> set[str]:
    slots = (name for kind in type(value).__mro__ for name, each in vars(kind).items() if is_slot(each))
    return {*getattr(value, "__dict__", {}), *(name for name in slots if hasattr(value, name))}


def is_own(value: object) -> bool:
    """Return whether it is an object of the daemon; counters are not what decisions depend on."""
    module = type(value).__module__
    return module.startswith("manager.") and not module.startswith("manager.metrics") and not isinstance(value, Enum)


def is_slot(value: object) -> bool:
    return isinstance(value, MemberDescriptorType)


def whole(made: World) -> dict[str, str]:
    assert made.daemon is not None
    return dict(state(made.daemon, "daemon", set()))


@dataclass
class Observed:
    """What decisions had remembered, and what changed by being asked for."""

    remembered: set[str] = field(default_factory=set)
    changed: set[tuple[str, str]] = field(default_factory=set)


@asynccontextmanager
async def only_reads(made: World, *names: str) -> AsyncIterator[Observed]:
    """Have the state of Workloads asked for in all ways between any two steps of the daemon."""
    observed = Observed()

    def note(look: Reconciliation) -> None:
        observed.remembered.update(type(action).__name__ for action in look.decision.local_actions)

    async def keep_asking() -> None:
        while True:
            observed.changed.update(changed_by_asking(made, *names))
            await asyncio.sleep(0.01)

    made.on_look = note
    asking = asyncio.create_task(keep_asking())
    yield observed
    asking.cancel()
    with suppress(asyncio.CancelledError):
        await asking
    assert observed.changed == set()


def changed_by_asking(made: World, *names: str) -> set[tuple[str, str]]:
    """Take a snapshot of each Workload, collect metrics, and return what is different then."""
    assert made.daemon is not None
    before = whole(made)
    for each in names:
        record = made.daemon.hub.workload(ObjectKey("team", each))
        if isinstance(record, HubRecord):
            made.daemon.loop.snapshots.take(record, departed=False, now_ns=made.clock.now_ns())
    list(made.daemon.metrics.registry.collect())
    return whole(made).items() ^ before.items()


async def explained(made: World, name: str = "wl") -> None:
    """Explain a Workload, and show that nothing changes by it."""
    assert made.daemon is not None
    await made.settled()
    before = whole(made)
    for _ in range(TIMES):
        assert await made.daemon.inspector.explain(ObjectKey("team", name)) is not None
    assert whole(made) == before


async def test_forecasts_are_followed_by_decisions_alone(tmp_path: Path) -> None:
    setting = {"w1": [queue(), tenant("low")], "w2": [queue(), tenant("other", 2, priority=1000)]}
    async with forecasting(tmp_path, setting) as made:
        async with only_reads(made, "wl") as observed:
            submit(made)
            await passing(made, lambda: made.check()["state"] == "Ready")
            await made.until(lambda: result(made) == "exact")
            await made.settled()
        assert {name(act.FollowForecast), name(act.UnfollowForecast)} <= observed.remembered
        await explained(made)


async def test_quota_is_promised_by_decisions_alone(tmp_path: Path) -> None:
    names = [f"wl-{number}" for number in range(6)]
    async with forecasting(tmp_path, FREE, dispatcher={"mode": "ForecastFirst"}) as made:
        async with only_reads(made, *names) as observed:
            for each in names:
                submit(made, each, cpu=1)
            await passing(made, lambda: all(made.check(each)["state"] == "Ready" for each in names), 0.1)
        assert name(act.HoldPromise) in observed.remembered
        await explained(made, "wl-0")


async def test_absences_and_gate_trials_are_noted_by_decisions_alone(tmp_path: Path) -> None:
    workers = [{"name": "w2", "gates_unsupported": "exclude"}]
    async with running(tmp_path, "w1", "w2", workers=workers) as made:
        made["w2"].shows_gates = False
        async with only_reads(made, "a", "wl") as observed:
            made.queue("a")
            made.list_workers("w1", "w2", "gone")
            await pending(made)
            await made.pass_time(40)
            await made.pass_time(600)
        assert {name(act.NoteAbsence), name(act.NoteGateEvidence), name(act.ClaimGateTrial)} <= observed.remembered
        await explained(made)


async def test_a_reconcile_reads_the_time_once(tmp_path: Path) -> None:
    async with forecasting(tmp_path, ONE_FREE, gates={"policy": "LeastDisruption"}) as made:
        made.clock.wall_tick_ns = 1
        made.list_workers("w1", "w2", "gone")
        submit(made)
        await passing(made, lambda: made.check()["state"] == "Ready")
        workers = [(worker, look.now_ns) for look in made.looks for worker in look.group.workers]
        away = [(worker, now_ns) for worker, now_ns in workers if worker.reach is Reach.LOST]
        made_now = [worker.forecast.made_ns for worker, _ in workers if worker.forecast is not None]
    assert away
    assert made_now
    assert all(w.lost_since_ns == now_ns - (w.lost_for_ns or 0) for w, now_ns in away)
    assert set(made_now) <= {look.now_ns for look in made.looks}, "a forecast is of the time of a decision"


def name(kind: type) -> str:
    return kind.__name__
