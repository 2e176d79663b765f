"""All answers of a search for victims that meets ties which Kueue leaves to chance.

The searches of one nomination do not influence each other, so each question is explored on its own, and the nomination
branches only where the answers differ. That keeps the ways through a nomination few, although the ways through the ties
of its searches are many.
"""

from collections import deque
from collections.abc import Callable, Hashable, Sequence
from typing import Final, Generic, TypeVar

T = TypeVar("T")

_MIN_RUNS: Final = 4
_QUESTIONS: Final = 4
"""A question takes at most this part of what is left of the budget, so that later ones are explored, too."""


class Choices:
    """Decides what Kueue leaves to chance, following a script first, and remembers what there was to decide."""

    def __init__(self, script: Sequence[int] = ()) -> None:
        self._script: Final = script
        self.taken: list[int] = []
        self.options: list[int] = []

    def __call__(self, options: int) -> int:
        """Pick one of several equally likely ways."""
        position = len(self.taken)
        choice = self._script[position] if position < len(self._script) else 0
        self.taken.append(choice)
        self.options.append(options)
        return choice

    def other_ways(self, start: int) -> list[tuple[int, ...]]:
        """Return the scripts that differ from what was taken at one tie from `start` on."""
        return [
            (*self.taken[:position], other)
            for position in range(start, len(self.taken))
            for other in range(1, self.options[position])
        ]


class TieExplorer(Generic[T]):
    """The answers to each question of a nomination; explored once, within a budget of ties for all of them."""

    def __init__(self, budget: int, identify: Callable[[T], Hashable]) -> None:
        self._budget = budget
        self._identify: Final = identify
        self._answers: dict[Hashable, list[T]] = {}
        self.is_exhaustive = True
        """False when the budget did not last: there may be answers that were not found."""

    def answers(self, question: Hashable, search: Callable[[Choices], T]) -> list[T]:
        """Return the answers of the search, the one of the first run first; none is left out without being noted."""
        known = self._answers.get(question)
        if known is None:
            known = self._answers[question] = self._explore(search)
        return known

    def _explore(self, search: Callable[[Choices], T]) -> list[T]:
        """Run the search again for every other way; ways that part early come first, because they differ most."""
        first = Choices()
        answer = search(first)
        if not first.taken:
            return [answer]
        found = {self._identify(answer): answer}
        scripts = deque(first.other_ways(0))
        left = self._budget // _QUESTIONS
        runs = 1
        while scripts:
            if left <= 0 and runs >= _MIN_RUNS:
                self.is_exhaustive = False
                break
            script = scripts.popleft()
            choices = Choices(script)
            answer = search(choices)
            found.setdefault(self._identify(answer), answer)
            left -= len(choices.taken)
            runs += 1
            scripts.extend(choices.other_ways(len(script)))
        self._budget -= self._budget // _QUESTIONS - left
        return list(found.values())
