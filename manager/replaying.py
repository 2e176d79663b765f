"""Makes recorded decisions again from what they depended on."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from config.api.meta import format_time
from gates.actions import Decision
from gates.decide import decide
from manager.journal import DECISION, JournaledDecision, JournaledRules
from manager.journal_file import JournalError, read_entries


@dataclass(frozen=True, slots=True)
class Replayed:
    """A recorded decision beside the one that is made now."""

    at_ns: int
    workload: str
    recorded: Decision
    made: Decision

    @property
    def is_identical(self) -> bool:
        """Tell whether they are the same."""
        return self.recorded == self.made

    @property
    def line(self) -> str:
        """Return the recorded decision in one line."""
        return f"{format_time(self.at_ns)} {self.workload} {_described(self.recorded)}"

    @property
    def difference(self) -> str:
        """Return both decisions."""
        return f"{self.line}\n  now: {_described(self.made)}\n  was: {self.recorded}\n  is:  {self.made}"


def replayed(path: Path, workload: str | None = None) -> Iterator[Replayed]:
    """Make the decisions of a journal again; raises `JournalError`."""
    for entry in read_entries(path, DECISION, JournaledDecision, JournaledRules, workload):
        if entry.rules is None:
            raise JournalError(f"{path}: the journal is damaged: a decision has lost its rules")
        body, rules = entry.body, entry.rules
        made = decide(body.group, body.now_ns, rules.settings, rules.policies)
        yield Replayed(entry.at_ns, entry.workload, body.decision, made)


def _described(decision: Decision) -> str:
    actions = ", ".join(type(action).__name__ for action in decision.actions)
    return f"{decision.rule}: {actions or 'nothing'}"
