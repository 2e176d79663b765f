"""Makes recorded decisions again from what they depended on."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from config.api.meta import format_time
from gates.decision.decide import decide
from gates.model.actions import Decision
from gates.model.rules import Rule
from manager.journal.reader import blamed_on, read_entries
from manager.journal.schema import JournalError
from manager.journal.writer import DECISION, JournaledDecision, JournaledRules
from workerclient.base.errors import excerpt

_LONGEST_LINE: Final = 64 << 10


@dataclass(frozen=True, slots=True)
class Replayed:
    """A recorded decision beside the one that is made now."""

    at_ns: int
    workload: str
    repeated: int
    recorded: Decision
    made: Decision

    @property
    def is_identical(self) -> bool:
        """Return whether they are the same."""
        return self.recorded == self.made

    @property
    def line(self) -> str:
        """Return the recorded decision in one line."""
        repeated = f" (and {self.repeated} repetitions before it)" if self.repeated else ""
        return _line(f"{format_time(self.at_ns)} {self.workload} {_described(self.recorded)}{repeated}")

    @property
    def difference(self) -> str:
        """Return both decisions, each in a line of its own."""
        details = (f"now: {_described(self.made)}", f"was: {self.recorded}", f"is:  {self.made}")
        return "\n  ".join((self.line, *map(_line, details)))


def replayed(path: Path, workload: str | None = None) -> Iterator[Replayed]:
    """Make the decisions of a journal again; raises `JournalError`."""
    for entry in read_entries(path, DECISION, JournaledDecision, JournaledRules, workload):
        if entry.rules is None:
            raise JournalError(f"{path}: the journal is damaged: a decision has lost its rules")
        body, rules = entry.body, entry.rules
        with blamed_on(path):
            made = decide(body.group, body.now_ns, rules.settings, rules.policies)
        yield Replayed(entry.at_ns, entry.workload, entry.repeated, _recorded(body), made)


def _recorded(body: JournaledDecision) -> Decision:
    """Return the decision of an entry; P5, of an older version, meant a rejected check where there is one."""
    decision = body.decision
    if decision.rule is Rule.NO_CHECK and body.group.workload.check is not None:
        return replace(decision, rule=Rule.CHECK_REJECTED)
    return decision


def _described(decision: Decision) -> str:
    actions = ", ".join(type(action).__name__ for action in decision.actions)
    return f"{decision.rule}: {actions or 'nothing'}"


def _line(text: str) -> str:
    """Return text as one line, whatever the journal contains."""
    return excerpt(text, limit=_LONGEST_LINE)
