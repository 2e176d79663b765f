"""Keeps decisions about one Workload from chasing each other, in Turnstile alone or together with another controller.

A change of a cluster explains a decision, the passing of time explains a few, and so does what an action led to, a few
times for each worker. More than that is a bug in Turnstile, which must burden neither the processor nor the log nor
the journal: the Workload rests, longer each time, until something happens to it.
Actions that never come to an end are another matter, because each is explained by a change: another controller undoes
what Turnstile writes, or a worker its own. Beyond a generous number they are taken seconds apart.
"""

from dataclasses import dataclass, field
from typing import Final

from config.api.meta import ObjectKey
from gates.model.actions import Decision, Step, SyncJob
from workerclient.base.backoff import Backoff, Failures
from workerclient.base.clock import Clock

MOST_DECISIONS: Final = 20
"""How many decisions about one Workload are explained by one event, beside those for each worker."""
MOST_PER_WORKER: Final = 5
EXPLAINED_PER_SECOND: Final = 1.0
"""How many are explained by time that passes, beside those for each worker: an action that fails is tried again."""
EXPLAINED_PER_WORKER: Final = 2.0
MOST_ACTIONS: Final = 100
"""How often one Workload may be acted on in quick succession, beside the times for each worker."""
MOST_ACTIONS_PER_WORKER: Final = 20
APART_SECONDS: Final = 5.0
"""How far apart it is acted on after that."""
SYNC_APART_SECONDS: Final = 1.0
"""The same where only jobs are followed, which may change all the time."""
_REST: Final = Backoff(lambda: 1.0, 1.0, 60.0)
_CALM_SECONDS: Final = 1.0
_LOGGED_TIMES: Final = 5
_LOGGED_SECONDS: Final = 60.0
"""The same decision about the same Workload is logged that often in that time."""


@dataclass(slots=True)
class _Course:
    at: float
    decisions: float = 0.0
    """Decisions that neither an event nor time has explained yet."""
    rests: Failures = field(default_factory=lambda: Failures("decision", _REST))
    rests_until: float = 0.0
    acted_at: float = 0.0
    actions: float = 0.0
    """What it was acted on, as the seconds that have to pass for it."""
    put_off_until: float = 0.0
    last: tuple[str, tuple[Step, ...]] = ("", ())
    logged: int = 0
    logged_since: float = 0.0


class DecisionLimit:
    """Counts decisions, Workload by Workload."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._courses: dict[ObjectKey, _Course] = {}

    def note_event(self, key: ObjectKey) -> None:
        """Take note that something happened to a Workload: it rests no more, unless it is acted on too often."""
        course = self._courses.get(key)
        if course is not None:
            course.decisions, course.rests_until = 0.0, 0.0

    def rest_left(self, key: ObjectKey) -> float:
        """Return for how many seconds nothing is to be decided about a Workload."""
        course = self._courses.get(key)
        if course is None:
            return 0.0
        return max(0.0, max(course.rests_until, course.put_off_until) - self._clock.monotonic())

    def is_exceeded(self, key: ObjectKey, workers: int) -> bool:
        """Count a decision that is about to be made; if there were too many, begin a rest and return True."""
        now = self._clock.monotonic()
        course = self._courses.setdefault(key, _Course(now))
        explained = (now - course.at) * (EXPLAINED_PER_SECOND + EXPLAINED_PER_WORKER * workers)
        course.at, course.decisions = now, max(0.0, course.decisions - explained)
        if not course.decisions and now >= course.rests_until + _CALM_SECONDS:
            course.rests.reset()
        if course.decisions + 1 <= MOST_DECISIONS + MOST_PER_WORKER * workers:
            course.decisions += 1
            return False
        course.rests_until = now + course.rests.next_wait()
        return True

    def is_overacted(self, key: ObjectKey, workers: int, decision: Decision) -> bool:
        """Count a decision to act; if there were too many, put the next decision off and return True."""
        if not decision.steps:
            return False
        now = self._clock.monotonic()
        course = self._courses.setdefault(key, _Course(now))
        most = (MOST_ACTIONS + MOST_ACTIONS_PER_WORKER * workers) * APART_SECONDS
        only_syncs = all(isinstance(action, SyncJob) for action in decision.actions)
        apart = SYNC_APART_SECONDS if only_syncs else APART_SECONDS
        course.actions = max(0.0, course.actions - (now - course.acted_at)) + apart
        course.acted_at = now
        if course.actions <= most:
            return False
        course.actions, course.put_off_until = most, now + apart
        return True

    def is_repetition(self, key: ObjectKey, decision: Decision) -> bool:
        """Return whether a decision to act was made, and logged, often enough already without another in between."""
        now = self._clock.monotonic()
        course = self._courses.setdefault(key, _Course(now))
        made = (decision.rule, decision.steps)
        if made != course.last or now - course.logged_since >= _LOGGED_SECONDS:
            course.last, course.logged, course.logged_since = made, 0, now
        course.logged += 1
        return bool(decision.steps) and course.logged > _LOGGED_TIMES

    def forget(self, key: ObjectKey) -> None:
        """Keep nothing of a Workload that is gone."""
        self._courses.pop(key, None)
