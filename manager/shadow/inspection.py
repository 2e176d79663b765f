"""What the daemon tells about itself in shadow mode: what it always tells, and the report."""

from typing import Any

from manager.inspection import Inspector
from manager.shadow.book import Book
from manager.shadow.problems import problems
from manager.shadow.report import report_of


class ShadowInspector(Inspector):
    """Answers questions about workers, Workloads, and what was seen."""

    book: Book

    def shadow(self) -> dict[str, Any] | None:
        """Return the report, and what cannot be seen now."""
        return {**report_of(self.book), "problems": problems(self._hub, self._fleet)}
