"""Makes a history that violates a law as short as it gets: events are left out while it still does."""

from collections.abc import Callable

from tests.simulation.history import Outcome, play
from tests.simulation.plan import Event, Plan


def shrunk(found: Outcome, most: int, play_again: Callable[[Plan], Outcome] = play) -> Outcome:
    """Return the shortest history that violates the same law, after playing at most so many."""
    law, best, left = found.violations[0].law, found, most
    size = len(best.plan.events) // 2
    while size and left > 0:
        dropped = False
        for first in range(0, len(best.plan.events), size):
            if left <= 0:
                break
            part: tuple[Event, ...] = best.plan.events[first : first + size]
            left -= 1
            outcome = play_again(best.plan.without(part))
            if any(violation.law == law for violation in outcome.violations):
                best, dropped = outcome, True
                break
        if not dropped:
            size //= 2
        size = min(size, len(best.plan.events))
    return best
