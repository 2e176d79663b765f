"""What all commands share: option groups, errors and exit codes, terminal, output."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from io import StringIO
from typing import Annotated

import pytest
import typer
import yaml
from typer.testing import CliRunner

from config.types.syntax import printable
from manager.cli.conventions.errors import BadInputError, CommandError, NoAnswerError
from manager.cli.conventions.optiongroups import with_option_groups
from manager.cli.conventions.options import Form
from manager.cli.conventions.output import API_VERSION, Report, TableColumn, TableView, rendered, show
from manager.cli.conventions.terminal import TerminalScreen, Tone, screen_of
from tests.unit.cli.conventions.programs import program

ITEMS = [{"name": "a", "note": "x" * 20}, {"name": "long", "note": "y\x1b[2J\n\u202ez"}]
COLUMNS = (
    TableColumn("NAME", lambda each: each["name"], tone=lambda each: Tone.GOOD if each["name"] == "a" else None),
    TableColumn("SIZE", lambda each: len(each["note"]), is_wide=True),
    TableColumn("NOTE", lambda each: each["note"]),
)
LISTING = TableView("ThingList", ITEMS, COLUMNS, lambda each: f"thing/{each['name']}", "there are no things")


@dataclass(frozen=True, slots=True)
class Greeting:
    """Two options."""

    word: Annotated[str, typer.Option("--word", "-w", help="What to say.")] = "hello"
    loud: Annotated[bool, typer.Option("--loud", help="Shout.")] = False


def test_a_group_of_options_reaches_the_command_as_one_value() -> None:
    seen: list[object] = []

    @with_option_groups
    def command(whom: Annotated[str, typer.Argument()], *, greeting: Greeting, times: int = 1) -> None:
        """Greet."""
        seen.append((whom, greeting, times))

    result = CliRunner().invoke(program(command), ["do", "you", "-w", "bye", "--loud", "--times", "3"])
    assert (result.exit_code, seen) == (0, [("you", Greeting("bye", loud=True), 3)])
    told = CliRunner().invoke(program(command), ["do", "--help"]).stdout
    assert "Greet." in told
    assert "What to say." in told


@pytest.mark.parametrize(
    ("error", "code"), [(CommandError("no"), 1), (BadInputError("bad"), 2), (NoAnswerError("silence"), 3)]
)
def test_an_error_is_one_line_and_an_exit_code(error: CommandError, code: int) -> None:
    def command() -> None:
        raise error

    result = CliRunner().invoke(program(command), ["do"])
    assert (result.exit_code, result.stdout, result.stderr) == (code, "", f"error: {error}\n")


def test_an_error_cannot_move_the_cursor() -> None:
    def command() -> None:
        raise BadInputError("two\nlines \x1b[31m")

    assert CliRunner().invoke(program(command), ["do"]).stderr == "error: two\\nlines \\x1b[31m\n"


def test_ctrl_c_is_130() -> None:
    def command() -> None:
        raise KeyboardInterrupt

    assert CliRunner().invoke(program(command), ["do"]).exit_code == 130


def test_a_closed_pipe_ends_a_command_silently_with_141() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "manager", "config", "defaults"]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, check=False, text=True)
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, "")


def test_a_stream_that_lacks_a_sign_gets_an_escape() -> None:
    code = "import typer; from tests.unit.cli.conventions.programs import program; "
    code += "from manager.cli.display.streams import prepare_streams; prepare_streams(); "
    code += "program(lambda: typer.echo('Z\u00fcrich \u2713'))(['do'])"
    environment = {**os.environ, "PYTHONIOENCODING": "iso8859-1", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (0, b"Z\xfcrich \\u2713\n"), done.stderr


def test_a_table_is_aligned_and_nothing_is_cut_without_a_terminal() -> None:
    assert list(rendered(LISTING, Form.TABLE, TerminalScreen())) == [
        "NAME  NOTE",
        "a     xxxxxxxxxxxxxxxxxxxx",
        "long  y\\x1b[2J\\n\\u202ez",
    ]


def test_a_terminal_gets_colours_and_a_table_that_fits() -> None:
    screen = TerminalScreen(is_terminal=True, has_colours=True, width=16)
    assert list(rendered(LISTING, Form.TABLE, screen))[:2] == [
        "\x1b[1mNAME\x1b[0m  \x1b[1mNOTE\x1b[0m",
        "\x1b[32ma   \x1b[0m  xxxxxxxxx…",
    ]


def test_wide_has_more_columns_and_cuts_nothing() -> None:
    lines = list(rendered(LISTING, Form.WIDE, TerminalScreen(is_terminal=True, width=12)))
    assert lines[:2] == ["NAME  SIZE  NOTE", "a     20    xxxxxxxxxxxxxxxxxxxx"]


def test_documents_are_versioned_and_plain_ascii() -> None:
    want = {"apiVersion": API_VERSION, "kind": "ThingList", "items": ITEMS}
    for form, load in ((Form.JSON, json.loads), (Form.YAML, yaml.safe_load)):
        (text,) = rendered(LISTING, form, TerminalScreen())
        assert load(text) == want
        assert text.replace("\n", "").isascii()
        assert text.replace("\n", "").isprintable()


def test_names_are_for_pipelines() -> None:
    assert list(rendered(LISTING, Form.NAME, TerminalScreen())) == ["thing/a", "thing/long"]


def test_a_report_has_a_screen_and_a_document() -> None:
    report = Report("Thing", {"size": 3}, lambda _screen, wide: ["big" if wide else "small"], ["thing/a"])
    assert list(rendered(report, Form.TABLE, TerminalScreen())) == ["small"]
    assert list(rendered(report, Form.WIDE, TerminalScreen())) == ["big"]
    assert json.loads(next(iter(rendered(report, Form.JSON, TerminalScreen())))) == {
        "apiVersion": API_VERSION,
        "kind": "Thing",
        "size": 3,
    }


def test_an_empty_table_is_a_sentence_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    nothing = TableView("ThingList", [], COLUMNS, lambda _each: "", "there are no things")
    show(nothing, Form.TABLE)
    assert capsys.readouterr() == ("", "there are no things\n")
    show(nothing, Form.JSON)
    assert json.loads(capsys.readouterr().out)["items"] == []


class Terminal(StringIO):
    """A stream that a person looks at."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "environment", "want"),
    [
        (StringIO(), {}, (False, False)),
        (Terminal(), {}, (True, True)),
        (Terminal(), {"NO_COLOR": "1"}, (True, False)),
        (Terminal(), {"NO_COLOR": ""}, (True, True)),
        (Terminal(), {"TERM": "dumb"}, (True, False)),
    ],
)
def test_colours_are_for_terminals_that_want_them(
    stream: StringIO, environment: dict[str, str], want: tuple[bool, bool]
) -> None:
    screen = screen_of(stream, environment)
    assert (screen.is_terminal, screen.has_colours) == want
    assert (screen.width is None) is not want[0]


def test_text_of_a_cluster_is_made_printable_and_left_alone_otherwise() -> None:
    assert printable("Zürich ✓") == "Zürich ✓"
    assert printable("a\x1b]0;title\x07\tb\x9b\u2066") == "a\\x1b]0;title\\x07\\tb\\x9b\\u2066"
