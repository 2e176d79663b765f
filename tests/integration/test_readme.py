"""What the README prints is what the commands print."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
MOST_LINES = 150


def test_the_prediction_is_what_the_command_prints() -> None:
    shown = re.search(r"\$ \.venv/bin/turnstile (predict -f \S+)\n(.*?)```", README, re.DOTALL)
    assert shown is not None
    command = [sys.executable, "-m", "manager", *shown.group(1).split()]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == shown.group(2)


def test_it_is_short() -> None:
    assert len(README.splitlines()) <= MOST_LINES


def test_every_linked_document_exists() -> None:
    documents = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/**/*.md")]
    for document in documents:
        for target in re.findall(r"\]\((?!https?://)([^)#]+)", document.read_text()):
            assert (document.parent / target).exists(), f"{document.relative_to(ROOT)} links to {target}"
