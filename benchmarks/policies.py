"""What a policy for gates spares: victims and lost pod-hours on a random and on a recorded mix of work.

    python -m benchmarks policies            # prints the tables
    python -m benchmarks.policies --write    # also renews docs/policies.md and its picture
    python -m benchmarks.policies --trace F  # plays a trace of yours

Three workers with work of their own, and a hub whose more urgent work may go to any of them. Virtual time; the engine
is each worker's Kueue, and gates are opened by the orchestrator's own decision. Equal seeds give equal numbers.
"""

import argparse
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.policies_hub import Fleet, Outcome
from benchmarks.policies_mix import TRACE, Arrival, office_day, random_mix, recorded_mix, write_trace
from benchmarks.policies_plot import picture
from gates.model.settings import GatePolicy

DOCUMENT: Final = Path(__file__).parents[1] / "docs" / "policies.md"
PICTURE: Final = DOCUMENT.parent / "images" / "policies.svg"
SEEDS: Final = (1, 2, 3, 4, 5)
HOURS: Final = 3
UNGATED: Final = "no gates (Kueue's default)"
MODES: Final[dict[str, GatePolicy | None]] = {UNGATED: None, **{str(policy): policy for policy in GatePolicy}}
_HEAD: Final = ("", "victims", "of these for nothing", "lost pod-hours", "placed", "mean wait")
_BEGIN, _END = "<!-- {name}:begin -->", "<!-- {name}:end -->"


@dataclass(frozen=True, slots=True)
class Row:
    """One way to let workers preempt, over one or several plays."""

    name: str
    victims: int
    wasted: int
    lost_pod_hours: float
    placed: int
    mean_wait: int
    """Seconds."""

    @property
    def cells(self) -> Sequence[str]:
        """Return it as a line of a table."""
        numbers = (f"{self.victims}", f"{self.wasted}", f"{self.lost_pod_hours:.1f}", f"{self.placed}")
        return (self.name, *numbers, f"{self.mean_wait} s")


def play(mixes: Sequence[Sequence[Arrival]]) -> list[Row]:
    """Play mixes under each policy."""
    return [_row(name, [Fleet(mix, policy).play() for mix in mixes]) for name, policy in MODES.items()]


def table(rows: Iterable[Row]) -> str:
    """Return rows as Markdown."""
    lines = [_HEAD, ("---",) * len(_HEAD), *(row.cells for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def parsed(document: str, name: str) -> list[Row]:
    """Read a table back from the document."""
    begin, end = _BEGIN.format(name=name), _END.format(name=name)
    lines = document.partition(f"{begin}\n")[2].partition(end)[0].splitlines()[2:]
    found = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [Row(c[0], int(c[1]), int(c[2]), float(c[3]), int(c[4]), int(c[5].removesuffix(" s"))) for c in found]


def run() -> None:
    """Play both mixes and print."""
    for title, mixes in _mixes().items():
        print(f"\n{title}\n\n{table(play(mixes))}", flush=True)


def renew() -> None:
    """Play both mixes, and put the numbers into the document and its picture."""
    text, shown = DOCUMENT.read_text(), {}
    for name, (title, mixes) in zip(("random", "recorded"), _mixes().items(), strict=True):
        rows = play(mixes)
        shown[title] = rows
        begin, end = _BEGIN.format(name=name), _END.format(name=name)
        before, _, rest = text.partition(f"{begin}\n")
        text = f"{before}{begin}\n{table(rows)}{end}{rest.partition(end)[2]}"
        print(f"\n{title}\n\n{table(rows)}", flush=True)
    DOCUMENT.write_text(text)
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(draw(shown))


def draw(shown: dict[str, list[Row]]) -> str:
    """Return the picture of tables."""
    panels = {
        title: [(row.name, row.victims, row.wasted, row.lost_pod_hours) for row in rows]
        for title, rows in shown.items()
    }
    return picture(panels)


def titles() -> Sequence[str]:
    """Return what the two mixes are called."""
    return tuple(_mixes())


def _mixes() -> dict[str, list[list[Arrival]]]:
    return {
        f"Random mix, {len(SEEDS)} times {HOURS} hours": [random_mix(seed, HOURS) for seed in SEEDS],
        "Recorded mix, one day": [recorded_mix()],
    }


def _row(name: str, outcomes: Sequence[Outcome]) -> Row:
    placed = sum(each.placed for each in outcomes)
    return Row(
        name=name,
        victims=sum(each.victims for each in outcomes),
        wasted=sum(each.wasted for each in outcomes),
        lost_pod_hours=round(sum(each.lost_pod_seconds for each in outcomes) / 3600, 1),
        placed=placed,
        mean_wait=round(sum(each.waited_seconds for each in outcomes) / placed) if placed else 0,
    )


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.policies", description=__doc__)
    parser.add_argument("--write", action="store_true", help="renew the document and its picture")
    parser.add_argument("--record", action="store_true", help="draw a new trace, and write it")
    parser.add_argument("--trace", type=Path, help="play this trace and nothing else")
    arguments = parser.parse_args()
    if arguments.trace is not None:
        return _run_trace(arguments.trace)
    if arguments.record:
        write_trace(office_day(), TRACE)
    renew() if arguments.write else run()
    return 0


def _run_trace(path: Path) -> int:
    try:
        mix = recorded_mix(path)
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(table(play([mix])), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
