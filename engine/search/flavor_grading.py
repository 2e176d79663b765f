"""How good a flavor is, and which of several is the best.

The rules of a ClusterQueue's `flavorFungibility`: what stops the search, and what beats what.
"""

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final, NamedTuple

from engine.objects.specs import FlavorFungibility, FungibilityPolicy, FungibilityPreference
from engine.versions.switches import Switches
from engine.vocabulary.assignment import LAST_FLAVOR_TRIED, AssignmentMode, FlavorChoice


class Possibility(IntEnum):
    """How well a flavor would serve; ordered, worst first."""

    NO_FIT = 0
    NO_CANDIDATES = 1
    PREEMPT = 2
    RECLAIM = 3
    FIT = 4

    @property
    def mode(self) -> AssignmentMode:
        """What it means for the workload."""
        if self is Possibility.NO_FIT:
            return AssignmentMode.NO_FIT
        return AssignmentMode.FIT if self is Possibility.FIT else AssignmentMode.PREEMPT


class Grade(NamedTuple):
    """How well a flavor would serve, and from how far its quota would come."""

    possibility: Possibility
    borrow_level: int


BEST_GRADE: Final = Grade(Possibility.FIT, 0)


@dataclass(slots=True)
class FoundFlavors:
    """The flavors found for some resources, or why there are none."""

    choices: dict[str, FlavorChoice] = field(default_factory=dict)
    reasons: list[str] = field(default_factory=list)
    error: str | None = None
    may_be_worded_otherwise: bool = False
    """Whether another order of the resources may end before all reasons are known."""


class FlavorScan:
    """The best flavor of a resource group so far."""

    def __init__(self, fungibility: FlavorFungibility, switches: Switches, *, has_fungibility: bool) -> None:
        self._fungibility = fungibility
        self._switches = switches
        self._has_fungibility = has_fungibility
        self._is_cut_by_chance = False
        self._choices: dict[str, FlavorChoice] = {}
        self._grade: Grade | None = None
        self.attempted = LAST_FLAVOR_TRIED
        self.reasons: list[str] = []

    def offer(self, grade: Grade, choices: dict[str, FlavorChoice]) -> bool:
        """Keep a flavor if it is better; return whether the search ends here."""
        if not self._has_fungibility:
            best = Possibility.NO_FIT if self._grade is None else self._grade.possibility
            if grade.possibility > best:
                self._grade, self._choices = grade, choices
            return grade.possibility is Possibility.FIT
        if not should_try_next(grade, self._fungibility):
            self._grade, self._choices = grade, choices
            return True
        if self._grade is None:
            better = grade.possibility is not Possibility.NO_FIT
        else:
            better = is_preferred(grade, self._grade, self._fungibility.preference, self._switches)
        if better:
            self._grade, self._choices = grade, choices
        return False

    def result(self, *, is_last: bool) -> FoundFlavors:
        """Return the best flavor, and the reasons against all of them unless it can be used at once."""
        choices = self._choices
        if self._has_fungibility:
            tried = LAST_FLAVOR_TRIED if is_last else self.attempted
            choices = {
                resource: FlavorChoice(choice.flavor, choice.mode, choice.borrow_level, tried)
                for resource, choice in choices.items()
            }
        fits = self._grade is not None and self._grade.possibility is Possibility.FIT
        return FoundFlavors(choices, [] if fits else self.reasons, may_be_worded_otherwise=self._is_cut_by_chance)

    def count_reasons(self, possibility: Possibility, reasons: int) -> None:
        """Take note of how many resources of one flavor lack, and what is the worst of them."""
        if possibility is Possibility.NO_FIT and reasons > 1:
            self._is_cut_by_chance = True


def should_try_next(grade: Grade, fungibility: FlavorFungibility) -> bool:
    """Return whether the search goes on although this flavor was graded so."""
    possibility = grade.possibility
    if possibility in (Possibility.NO_FIT, Possibility.NO_CANDIDATES):
        return True
    try_next = FungibilityPolicy.TRY_NEXT_FLAVOR
    if possibility is not Possibility.FIT and fungibility.when_can_preempt is try_next:
        return True
    return grade.borrow_level > 0 and fungibility.when_can_borrow is try_next


def is_preferred(a: Grade, b: Grade, preference: FungibilityPreference | None, switches: Switches) -> bool:
    """Return whether flavor `a` is strictly better than flavor `b`."""
    if a.possibility is Possibility.NO_FIT:
        return False
    if b.possibility is Possibility.NO_FIT:
        return True
    a_is_stuck = a.possibility is Possibility.NO_CANDIDATES
    if switches.ranks_no_candidates_last and a_is_stuck != (b.possibility is Possibility.NO_CANDIDATES):
        return not a_is_stuck
    by_mode = (a.possibility, -a.borrow_level) > (b.possibility, -b.borrow_level)
    by_distance = (-a.borrow_level, a.possibility) > (-b.borrow_level, b.possibility)
    near_first = FungibilityPreference.PREEMPTION_OVER_BORROWING
    if switches.swaps_fungibility_preferences:
        near_first = FungibilityPreference.BORROWING_OVER_PREEMPTION
    return by_distance if preference is near_first else by_mode
