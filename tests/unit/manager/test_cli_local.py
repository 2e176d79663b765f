"""`turnstile local` with input that cannot work: one line that says why, exit code 2, nothing left behind."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from manager.cli.app import app


@pytest.mark.parametrize(
    ("arguments", "want_error"),
    [
        pytest.param(
            ["--clusters", "hub,hub"], "error: cluster names must differ; given more than once: hub", id="twins"
        ),
        pytest.param(
            ["--clusters", "Hub"], 'error: cluster name "Hub": a lowercase RFC 1123 label must', id="capitals"
        ),
        pytest.param(["--clusters", "hub,"], 'error: cluster name "": ', id="a stray comma"),
        pytest.param(
            ["--fleet", "--clusters", "hub"],
            "error: --clusters: a fleet needs a hub and at least one worker",
            id="alone",
        ),
        pytest.param(["--directory", "d" * 120], "error: --directory: ", id="a path too long for a socket"),
        pytest.param(["--directory", "file/below"], "error: cannot make directory ", id="a file in the way"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], want_error: str
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.chdir(tmp_path)

    result = CliRunner().invoke(app, ["local", *arguments])

    assert result.exit_code == 2
    assert result.stderr.startswith(want_error)
    assert len(result.stderr.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
