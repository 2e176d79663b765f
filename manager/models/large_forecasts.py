"""Forecasts that take more work than a reconcile of a Workload may take, for one worker.

Work is counted in steps of the engine (`engine.vocabulary.effort`), never in time. What does not fit into the rest of a
look is made in a step of its own; what does not fit into that either is made in a thread, of the state at the moment
when it was asked for; what takes even more is too large to forecast. The result is kept for a while with that moment
in it, and the Workload is reconciled again. Until then there is no forecast, as for a model that is behind.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from config.api.meta import NANOSECONDS, ObjectKey
from engine.forecasting.forecast import Forecast, unsupported
from engine.forecasting.observed import Exposure, ObservedCluster
from engine.objects.workloads import AdmittedWorkload
from engine.vocabulary.effort import Effort, TooMuchEffortError
from manager.logging.logs import get_log
from manager.process.background import Background
from manager.process.worker_thread import Work
from workerclient.base.clock import Clock

LOOK_STEPS: Final = 4_000
"""What one reconcile of a Workload may spend on the forecasts of all workers: about 10 ms."""
MOST_STEPS: Final = 400_000
"""What one forecast may take in the thread: about one second of a processor."""
_STANDS_SECONDS: Final = 10.0
"""How long a forecast that was made here is not made again, whatever changes; expensive ones are kept longer."""
_STEPS_PER_SECOND: Final = 50_000
_GIVEN_UP_SECONDS: Final = 300.0
"""How long one that was too large, or failed, is not tried again."""
_KEPT_SECONDS: Final = 60.0
"""How long one is used if no newer one could be made."""
_AWAITED_SECONDS: Final = 10.0
"""How long a policy may wait for one."""

Question = Callable[[ObservedCluster, Effort], tuple[Forecast, AdmittedWorkload | None]]
"""Makes a forecast, and says what quota is to be held for it, on a model of its own or on that of the worker."""


@dataclass(frozen=True, slots=True)
class Made:
    """A forecast that was made here."""

    subject: Hashable
    """Which Workload, and what it asked for then."""
    forecast: Forecast
    promise: AdmittedWorkload | None
    steps: int
    ended: float
    """When it was made, on the steady clock."""
    is_given_up: bool = False

    @property
    def stands_seconds(self) -> float:
        """Return for how long it is not made again."""
        return _GIVEN_UP_SECONDS if self.is_given_up else _STANDS_SECONDS + self.steps / _STEPS_PER_SECOND


class LargeForecasts:
    """What is being made, and what was made."""

    def __init__(
        self, cluster: ObservedCluster, background: Background, clock: Clock, on_made: Callable[[ObjectKey], None]
    ) -> None:
        self._cluster = cluster
        self._background = background
        self._clock = clock
        self._on_made = on_made
        self._made: dict[ObjectKey, Made] = {}
        self._asked: dict[ObjectKey, tuple[Hashable, float]] = {}
        self._turned_away: dict[ObjectKey, None] = {}
        self._exposure: tuple[int, Exposure] | None = None

    def standing(self, key: ObjectKey, subject: Hashable) -> Made | None:
        """Return what was made lately, which is not made again."""
        made = self.last(key, subject)
        return made if made is not None and self._age(made) <= made.stands_seconds else None

    def last(self, key: ObjectKey, subject: Hashable) -> Made | None:
        """Return what was made last, unless that is too long ago."""
        made = self._made.get(key)
        if made is None or made.subject != subject:
            return None
        return made if self._age(made) <= max(_KEPT_SECONDS, made.stands_seconds) else None

    def newest(self, key: ObjectKey) -> Forecast | None:
        """Return what was made last, however long ago."""
        made = self._made.get(key)
        return made.forecast if made is not None else None

    def is_large(self, key: ObjectKey, subject: Hashable) -> bool:
        """Return whether a forecast took too much for a reconcile when it was made last, or is being made."""
        made = self._made.get(key)
        if self._is_asked(key, subject):
            return True
        return made is not None and made.subject == subject and made.steps > LOOK_STEPS

    def wait_ns(self, key: ObjectKey) -> int:
        """Return how long it is still worth waiting for a forecast that is being made, 0 if none is."""
        _, asked = self._asked.get(key, (None, -_AWAITED_SECONDS))
        return max(0, int((asked + _AWAITED_SECONDS - self._clock.monotonic()) * NANOSECONDS))

    def is_requested(self, key: ObjectKey, subject: Hashable) -> bool:
        """Return whether a forecast is being made, or is asked for again as soon as there is room."""
        return self._is_asked(key, subject) or key in self._turned_away

    def wait_if_asked_ns(self) -> int:
        """Return how long a policy would wait for a forecast that is asked for now; 0 if there is no room for it."""
        return int(_AWAITED_SECONDS * NANOSECONDS) if self._background.has_room() else 0

    def ask(
        self,
        key: ObjectKey,
        subject: Hashable,
        question: Question,
        now_ns: int,
        *,
        spent: int,
        is_wanted: Callable[[], bool] = lambda: True,
    ) -> None:
        """Let a forecast be made, unless it is being made; `spent` steps were not enough.

        Where these were all that there are on the loop it is of this moment; else of a later one, if it is wanted then.
        """
        if self._is_asked(key, subject):
            return
        if not self._background.has_room():
            self._turned_away[key] = None
            return
        self._asked[key] = (subject, self._clock.monotonic())
        exposure = self._expose() if spent >= LOOK_STEPS else None

        async def make() -> None:
            if not self._is_asked(key, subject):
                return  # the Workload was forgotten meanwhile, and is not to be reconciled for this
            try:
                if exposure is not None or is_wanted():
                    await self._make(key, subject, question, exposure, now_ns)
            except Exception as error:  # noqa: BLE001 - a mistake in a forecast must not be made for ever
                get_log().error("forecast.failed", workload=str(key), exc_info=error)
                self._keep(
                    key, subject, (unsupported(f"{type(error).__name__}: {error}", now_ns), None), MOST_STEPS + 1
                )
            finally:
                self._end(key, subject)

        self._background.add(make)

    def forget(self, key: ObjectKey) -> None:
        """Keep nothing of a Workload; what is being made for it is not used."""
        self._made.pop(key, None)
        self._asked.pop(key, None)
        self._turned_away.pop(key, None)

    def _is_asked(self, key: ObjectKey, subject: Hashable) -> bool:
        return key in self._asked and self._asked[key][0] == subject

    def _age(self, made: Made) -> float:
        return self._clock.monotonic() - made.ended

    async def _make(
        self, key: ObjectKey, subject: Hashable, question: Question, exposure: Exposure | None, now_ns: int
    ) -> None:
        if exposure is None:
            now_ns, effort = self._clock.now_ns(), Effort(LOOK_STEPS)
            try:
                found, promise = question(self._cluster, effort)
                self._keep(key, subject, (replace(found, made_ns=now_ns), promise), effort.spent)
                return
            except TooMuchEffortError:
                exposure = self._expose()
        found, promise, steps = await self._background.in_thread(partial(made_apart, exposure, question, now_ns))
        held = _translated(promise, self._cluster) if promise is not None else None
        self._keep(key, subject, (found, held), steps)

    def _keep(
        self, key: ObjectKey, subject: Hashable, answer: tuple[Forecast, AdmittedWorkload | None], steps: int
    ) -> None:
        """Take an answer, unless the Workload is gone or was asked about otherwise meanwhile."""
        if self._is_asked(key, subject):
            ended, is_given_up = self._clock.monotonic(), steps > MOST_STEPS
            self._made[key] = Made(subject, *answer, min(steps, MOST_STEPS), ended, is_given_up=is_given_up)

    def _end(self, key: ObjectKey, subject: Hashable) -> None:
        """Notify those that wait, and those that could not be forecast before."""
        if self._is_asked(key, subject):
            del self._asked[key]
        if not self._asked:
            self._exposure = None
        self._on_made(key)
        if self._turned_away:
            other = next(iter(self._turned_away))
            del self._turned_away[other]
            self._on_made(other)

    def _expose(self) -> Exposure:
        """Return what is known now; equal states share their values."""
        if self._exposure is None or self._exposure[0] != self._cluster.version:
            self._exposure = (self._cluster.version, self._cluster.expose())
        return self._exposure[1]


def made_apart(
    exposure: Exposure, question: Question, now_ns: int, work: Work
) -> tuple[Forecast, AdmittedWorkload | None, int]:
    """Make a forecast on a model of its own, and say how many steps it took; more than allowed if it was given up."""
    work.step()
    twin = ObservedCluster.of(exposure)
    twin.model.on_search = work.step
    effort = Effort(MOST_STEPS)
    try:
        found, promise = question(twin, effort)
    except TooMuchEffortError as error:
        return unsupported(f"too large to forecast: {error}", now_ns), None, MOST_STEPS + 1
    return replace(found, made_ns=now_ns), promise, effort.spent


def _translated(promise: AdmittedWorkload, cluster: ObservedCluster) -> AdmittedWorkload:
    """Return the same in terms of the worker's model, whose pairs of flavor and resource are its own."""
    table = cluster.model.table
    usage = tuple((table.get(fr.flavor, fr.resource), amount) for fr, amount in promise.usage)
    return AdmittedWorkload(
        key=promise.key,
        cluster_queue=promise.cluster_queue,
        usage=usage,
        uses=frozenset(fr for fr, _ in usage),
        priority=promise.priority,
        order=promise.order,
        queue_time_ns=promise.queue_time_ns,
        is_evicted=promise.is_evicted,
        has_ready_pods=promise.has_ready_pods,
        topology=promise.topology,
    )
