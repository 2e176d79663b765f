"""The runbook refers to no command, a setting or a page that does not exist."""

import re
from pathlib import Path

import pytest
import typer

from config.loading.shape import walk
from config.sections.settings import Configuration
from manager.cli.app import app
from manager.reference.metrics import EVERY_FAMILY

ROOT = Path(__file__).resolve().parents[3]
RUNBOOK = (ROOT / "docs" / "runbook.md").read_text()
COMMANDS = sorted(set(re.findall(r"turnstile ((?:worker |config )?[a-z][a-z-]+)(?= |`|$)", RUNBOOK)))
DOTTED = sorted(set(re.findall(r"`([a-z]\w+\.[a-z]\w+)(?::[^`]*)?`", RUNBOOK)))


def known_commands() -> set[str]:
    group = typer.main.get_command(app)
    found = set()
    for name, command in group.commands.items():  # type: ignore[attr-defined]
        found |= {f"{name} {inner}" for inner in getattr(command, "commands", {})} or {name}
    return found


@pytest.mark.parametrize("command", [each for each in COMMANDS if not each.startswith("get ")])
def test_a_command_exists(command: str) -> None:
    assert command in known_commands()


def test_some_commands_are_named() -> None:
    assert {"status", "explain", "replay", "worker rotate", "config validate"} <= set(COMMANDS)


def test_settings_exist() -> None:
    known = {path for path, _ in walk(Configuration)}
    events = {"gate.opened", "workload.held_up", "workload.failed", "action.failed", "hub.lost", "hub.connected"}
    events |= {"leadership.unreachable", "journal.unwritable", "journal.behind", "journal.full"}
    events |= {"workload.decision_loop", "workload.contended", "worker.credential_ends", "worker.failed"}
    events |= {"forecasts.failed", "podforecasts.failed", "windows.restarted"}
    fields = {"status.preemptionGates"}
    assert [name for name in DOTTED if name not in known | events | fields] == []


def test_metrics_exist() -> None:
    known = {family.name for family in EVERY_FAMILY}
    assert set(re.findall(r"turnstile_\w+", RUNBOOK)) <= known


def test_pages_exist() -> None:
    linked = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", RUNBOOK)
    assert [page for page in linked if not (ROOT / "docs" / page).exists()] == []


def test_sections_exist() -> None:
    headings = re.findall(r"^#+ (.*)$", RUNBOOK, re.MULTILINE)
    anchors = {re.sub(r"[^\w\- ]", "", heading).lower().replace(" ", "-") for heading in headings}
    assert set(re.findall(r"\]\(#([^)]+)\)", RUNBOOK)) <= anchors
