"""`turnstile config` as a user runs it: a process with arguments, output streams and an exit code."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from config.reading.files import IS_DIRECTORY
from manager.cost.models import not_installed
from tests.unit.config.documents import HEADER
from tests.unit.config.mistakes import FIVE_ERRORS, FIVE_MISTAKES

TURNSTILE = Path(sys.executable).parent / "turnstile"


def turnstile(
    *arguments: str | Path, stdin: str = "", env: dict[str, str] | None = None, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the installed command with nothing of this process's environment."""
    return subprocess.run(
        [TURNSTILE, *arguments],
        input=stdin,
        env=env or {},
        cwd=cwd,
        text=True,
        capture_output=True,
        timeout=60,
        check=False,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "turnstile.yaml").write_text(FIVE_MISTAKES)
    (tmp_path / "good.yaml").write_text(HEADER + "gcInterval: 0\n")
    return tmp_path


def test_five_mistakes_give_five_lines_on_stderr_and_exit_code_2(folder: Path) -> None:
    done = turnstile("config", "validate", "turnstile.yaml", cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines() == FIVE_ERRORS


def test_a_valid_file_is_said_to_be_valid_and_warnings_do_not_fail(folder: Path) -> None:
    done = turnstile("config", "validate", "-f", "good.yaml", cwd=folder)
    assert (done.returncode, done.stdout) == (0, "good.yaml: valid\n")
    assert done.stderr.startswith("warning: good.yaml:3: gcInterval: garbage collection is off")


def test_a_file_named_on_the_command_line_wins_over_the_environment_and_two_are_refused(folder: Path) -> None:
    env = {"TURNSTILE_CONFIG": str(folder / "turnstile.yaml")}
    assert turnstile("config", "validate", "-f", "good.yaml", cwd=folder, env=env).returncode == 0
    done = turnstile("config", "validate", "good.yaml", "-f", "good.yaml", cwd=folder)
    assert done.returncode == 2
    assert "give the file once" in done.stderr


def test_json_output(folder: Path) -> None:
    done = turnstile("config", "validate", "turnstile.yaml", "-o", "json", cwd=folder)
    result = json.loads(done.stdout)
    assert (done.returncode, result["valid"], len(result["errors"])) == (2, False, 5)
    assert result["errors"][0]["line"] == 4
    assert result["errors"][0]["field"] == "hub.origin"


def test_the_defaults_validate_from_standard_input() -> None:
    defaults = turnstile("config", "defaults")
    assert (defaults.returncode, defaults.stderr) == (0, "")
    done = turnstile("config", "validate", "-", stdin=defaults.stdout)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_schema_is_json() -> None:
    assert json.loads(turnstile("config", "schema").stdout)["title"] == "Turnstile configuration"


def test_the_file_and_its_fields_can_come_from_the_environment(folder: Path) -> None:
    env = {"TURNSTILE_CONFIG": str(folder / "good.yaml"), "TURNSTILE_GC_INTERVAL": "1m"}
    assert turnstile("config", "validate", env=env).stderr == ""
    done = turnstile("config", "validate", env=env | {"TURNSTILE_HTTP__PORT": "-1"})
    assert (done.returncode, done.stderr.splitlines()) == (
        2,
        ['TURNSTILE_HTTP__PORT: http.port: "-1" is not allowed: a whole number from 0 to 65535'],
    )


@pytest.mark.parametrize(
    ("path", "want"),
    [(".", f".: {IS_DIRECTORY}"), ("none.yaml", "none.yaml: does not exist")],
)
def test_what_is_no_file_gives_one_sentence(folder: Path, path: str, want: str) -> None:
    done = turnstile("config", "validate", path, cwd=folder)
    assert (done.returncode, done.stdout, done.stderr.strip()) == (2, "", want)


def test_kubeconfigs_are_held_to_the_policy_on_request(folder: Path) -> None:
    (folder / "w1").write_text("kind: Config\napiVersion: v1\n")
    (folder / "w.yaml").write_text(
        HEADER
        + f"kubeconfigPolicy: {{allowedDirectories: [{folder}]}}\n"
        + f"workers:\n- {{name: w1, kubeconfig: {{path: {folder}/w1}}}}\n"
        + "- {name: w2, kubeconfig: {path: /etc/passwd}}\n"
    )
    assert turnstile("config", "validate", "w.yaml", cwd=folder).returncode == 0
    done = turnstile("config", "validate", "w.yaml", "--kubeconfigs", cwd=folder)
    assert done.returncode == 2
    first, second = done.stderr.splitlines()
    assert first.startswith(f"{folder}/w1: workers[0].kubeconfig.path: current-context is not set")
    assert "workers[1].kubeconfig.path: kubeconfig path is not under the allowed prefix" in second


def test_help_does_not_load_pydantic() -> None:
    program = "import sys; import manager.cli.app; sys.exit('pydantic' in sys.modules)"
    assert subprocess.run([sys.executable, "-P", "-c", program], check=False).returncode == 0


def test_a_cost_model_that_is_not_installed_is_named_with_those_that_are(folder: Path) -> None:
    (folder / "costs.yaml").write_text(HEADER + "costController:\n  model: refrence\n")
    done = turnstile("config", "validate", "costs.yaml", cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    models = ["checkpoint", "progress", "reference"]
    assert done.stderr == f"costs.yaml: costController.model: {not_installed('refrence', models)}\n"
