"""What the README prints is what the commands print."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
MOST_LINES = 150


def test_the_prediction_is_what_the_command_prints() -> None:
    shown = re.search(r"\$ turnstile (predict -f \S+)\n(.*?)```", README, re.DOTALL)
    assert shown is not None
    command = [sys.executable, "-m", "manager", *shown.group(1).split()]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    printed = iter(done.stdout.splitlines())
    for line in shown.group(2).splitlines():
        assert line == "…" or line in printed, line


def test_the_numbers_beside_kueue_are_those_that_were_measured() -> None:
    measured = (ROOT / "docs/real-kueue.md").read_text()
    rows = re.findall(r"^\| (SIGSTOP|TCP cut|TCP black hole) \| .*? \| opened at ([\d.]+) s", measured, re.MULTILINE)
    told = re.findall(r"3 of 3 early, after (\d+) to (\d+) s", README)
    spans = {way: [float(seconds) for each, seconds in rows if each == way] for way, _ in rows}
    assert [(str(round(min(span))), str(round(max(span)))) for span in spans.values()] == told
    assert measured.count("| closed for 90 s |") == sum(map(len, spans.values())) == 9
    (race,) = re.findall(
        r"^\| seconds until all 200 .* \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| [\d.]+ \|$", measured, re.MULTILINE
    )
    assert all(f"{seconds} s" in README for seconds in race)


def test_it_is_short() -> None:
    assert len(README.splitlines()) <= MOST_LINES


def test_every_linked_document_exists() -> None:
    documents = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/**/*.md")]
    for document in documents:
        for target in re.findall(r"\]\((?!https?://)([^)#]+)", document.read_text()):
            assert (document.parent / target).exists(), f"{document.relative_to(ROOT)} links to {target}"
