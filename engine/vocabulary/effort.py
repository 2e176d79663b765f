"""How long a forecast may search: counted in steps and not in time, so that equal questions end equally everywhere."""

import sys


class TooMuchEffortError(ValueError):
    """The steps are spent before all possibilities were followed."""

    def __init__(self, steps: int) -> None:
        super().__init__(f"too many possibilities: given up after {steps} steps")


class Effort:
    """The steps that are left. A step is a small piece of work: whether one candidate is needed, or one pod fits."""

    __slots__ = ("left", "steps")

    def __init__(self, steps: int = sys.maxsize) -> None:
        """Allow so many steps; without a number no search is given up."""
        self.steps = self.left = steps

    def spend(self, steps: int = 1) -> None:
        """Take steps; raises `TooMuchEffortError` when none are left."""
        self.left -= steps
        if self.left < 0:
            raise TooMuchEffortError(self.steps)

    @property
    def spent(self) -> int:
        """Return how many steps were taken."""
        return self.steps - self.left
