"""What `turnstile top` refuses, each with one line that says what to do."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from manager.cli.app import app
from manager.cli.conventions.errors import BadInputError
from manager.cli.top.command import interval_of, require_terminal

NO_TERMINAL = (
    "turnstile top needs a terminal that can move the cursor; "
    "`turnstile status workloads --watch` prints changes as lines"
)


def test_without_a_terminal_it_names_the_command_that_prints_lines(tmp_path: Path) -> None:
    result = CliRunner(env={"HOME": str(tmp_path)}).invoke(app, ["top", "--socket", str(tmp_path / "none")])
    assert (result.exit_code, result.stderr) == (2, f"error: {NO_TERMINAL}\n")


def test_a_dumb_terminal_is_refused() -> None:
    require_terminal({"TERM": "xterm"}, is_terminal=True)
    with pytest.raises(BadInputError, match=NO_TERMINAL.replace("`", ".")):
        require_terminal({"TERM": "dumb"}, is_terminal=True)


@pytest.mark.parametrize("text", ["0", "0s", "-1s", "500ms", "1h1s", "fast", ""])
def test_an_interval_that_cannot_be_is_one_line(text: str, tmp_path: Path) -> None:
    result = CliRunner(env={"HOME": str(tmp_path)}).invoke(app, ["top", f"--interval={text}"])
    message = f'--interval "{text}" is not allowed: must be a duration from 1s to 1h, such as "2s"'
    assert (result.exit_code, result.stderr) == (2, f"error: {message}\n")


@pytest.mark.parametrize(("text", "seconds"), [("1s", 1.0), ("2.5s", 2.5), ("1h", 3600.0)])
def test_an_interval_is_a_duration(text: str, seconds: float) -> None:
    assert interval_of(text) == seconds


def test_the_configuration_names_the_socket_as_for_every_command_that_asks_a_daemon() -> None:
    runner = CliRunner()
    for command in ("status", "explain", "timeline", "plan", "top", "ui", "shadow report"):
        shown = runner.invoke(app, [*command.split(), "--help"]).stdout
        assert "-c, --config FILE" in shown, command
