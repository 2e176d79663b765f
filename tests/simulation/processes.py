"""Daemons as processes of the simulation: started, killed, stopped and continued, with a machine's clock."""

import asyncio
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from random import Random
from typing import Any, Final, TypeVar

from config.api.meta import ObjectKey
from config.kubeconfig.access import ClusterAccess
from config.sections.settings import Configuration
from gates.upkeep.leadership import LeaseTimings
from manager.app.daemon import Daemon, identify
from manager.app.listeners import Observers
from manager.base.errors import StartupError
from manager.election.leadership import Elector, LeadershipLostError
from tests.simulation.clocks import ProcessClock
from tests.simulation.loop import SimulatedLoop, context_of
from tests.simulation.wire import Network
from workerclient.cluster import ClientContext, ClusterClient

Result = TypeVar("Result")

SYSTEM: Final = "turnstile-system"
LEASE: Final = ObjectKey(SYSTEM, "turnstile")
TIMINGS: Final = LeaseTimings(retry_seconds=4.0)
"""With the default of two seconds a third of all requests would be about the Lease."""


async def at_once(_place: Hashable, call: Callable[..., Result], /, *args: Any) -> Result:
    """Implements `workerclient.transport.file_threads.ThreadRunner` without a thread."""
    return call(*args)


@dataclass(frozen=True)
class Surroundings:
    """What the daemons of a history have in common."""

    seed: str
    loop: SimulatedLoop
    network: Network
    access: ClusterAccess
    configuration: Callable[[], Configuration]
    elects: bool
    observers: Callable[[str], Observers]
    on_end: Callable[[str, BaseException | None], None]
    """Called with the name of a process that ended by itself, and what ended it."""


class DaemonProcess:
    """One place for a daemon: whenever it ends, another one is started there."""

    def __init__(self, name: str, clock: ProcessClock, around: Surroundings) -> None:
        self.name = name
        self.clock = clock
        self.daemon: Daemon | None = None
        self._around = around
        self._chance = Random(f"{around.seed}/process/{name}")
        self._starts = 0
        self._task: asyncio.Task[None] | None = None
        self._restart: asyncio.TimerHandle | None = None

    @property
    def process(self) -> str:
        """Return the name of the process that runs here now."""
        return f"{self.name}.{self._starts}"

    @property
    def is_running(self) -> bool:
        """Tell whether there is a process."""
        return self._task is not None

    def start(self) -> None:
        """Start a process."""
        self._restart = None
        self._starts += 1
        self._task = self._around.loop.create_task(self._run(), context=context_of(self.process))
        self._task.add_done_callback(self._ended, context=context_of("simulation"))

    def kill(self, pause: float) -> None:
        """End the process at once, and start another one after a pause."""
        if self._task is None:
            return
        self._around.network.kill(self.process)
        self._around.loop.continue_process(self.process)
        task, self._task, self.daemon = self._task, None, None
        task.cancel()
        self._restart = self._around.loop.call_later(pause, self.start, context=context_of("simulation"))

    async def end(self) -> None:
        """End it for good."""
        self._around.network.kill(self.process)
        self._around.loop.continue_process(self.process)
        if self._restart is not None:
            self._restart.cancel()
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait([task])

    async def _run(self) -> None:
        around = self._around
        context = ClientContext(
            self.clock, self._chance.random, open_session=around.network.open_session, in_thread=at_once
        )
        configuration = around.configuration()
        identity = await identify(configuration, around.access, context)
        elector = None
        if around.elects:
            voter = ClusterClient("hub", around.access, context)
            elector = Elector(voter, LEASE, self.process, TIMINGS, self.clock, self._chance.random)
        self.daemon = Daemon(configuration, around.access, identity, context, around.observers(self.process), elector)
        await self.daemon.run()

    def _ended(self, task: "asyncio.Task[None]") -> None:
        error = None if task.cancelled() else task.exception()
        if task is not self._task:
            if error is not None and not _is_foreseen(error):
                self._around.on_end(self.name, error)
            return
        self._around.network.kill(self.process)
        self._task, self.daemon = None, None
        if error is None or not _is_foreseen(error):
            self._around.on_end(self.process, error)
        self._restart = self._around.loop.call_later(1.0 + self._chance.random(), self.start)


def _is_foreseen(error: BaseException) -> bool:
    """Tell whether a process may end by this: then the kubelet starts another one."""
    if isinstance(error, BaseExceptionGroup):
        return all(map(_is_foreseen, error.exceptions))
    return isinstance(error, StartupError | LeadershipLostError)
