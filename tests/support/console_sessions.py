"""Sessions in documents: fenced `console` blocks, each command with what it prints."""

import re
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Step:
    """One command and what it prints."""

    command: str
    output: list[str]

    @property
    def exported(self) -> tuple[str, str] | None:
        """Return the variable that the command sets for those behind it."""
        found = re.fullmatch(r"export (\w+)=(\S+)", self.command)
        return (found[1], found[2]) if found else None


def fenced_blocks(document: Path, language: str) -> list[str]:
    """Return the blocks of one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", document.read_text(), flags=re.MULTILINE | re.DOTALL)


def steps_of(block: str) -> list[Step]:
    """Return the commands of a block."""
    steps: list[Step] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            steps.append(Step(line[2:], []))
        else:
            steps[-1].output.append(line)
    return steps
