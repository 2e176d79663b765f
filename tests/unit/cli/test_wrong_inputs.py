"""Wrong inputs and a hostile environment: one line with a remedy, exit code 2 or 3, never a traceback.

Streams and the working directory belong to a process, so those rows run as processes; the others run in this one.
"""

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from typer.testing import CliRunner

from manager.cli.app import app
from tests.support.foreign_text import unprintable

ROOT = Path(__file__).resolve().parents[3]
LONG = "x" * 300
BAD_BYTE = os.fsdecode(b"a/\xff")
TITLE = "\x1b]0;owned\x07"
WORKLOAD = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: Workload
metadata: {name: wl, namespace: team}
spec:
  queueName: missing
  podSets: [{name: main, count: 1, template: {spec: {containers: [{name: c, image: i}]}}}]
"""


class Row(NamedTuple):
    arguments: tuple[str, ...]
    code: int
    words: str
    """What the last line contains: what is wrong, or the remedy."""
    notes: int = 0
    """How many lines before it say what is done instead of what was asked for."""


FULL = "standard output cannot be written: No space left on device; redirect it elsewhere"
CLOSED = "standard output cannot be written: Bad file descriptor; redirect it elsewhere"
STREAMS: dict[str, tuple[str, int, str]] = {
    "the help on a full disk": ("--help >/dev/full", 3, FULL),
    "the help of a command on a full disk": ("status --help >/dev/full", 3, FULL),
    "the defaults on a full disk": ("config defaults >/dev/full", 3, FULL),
    "a prediction on a full disk": ("predict -f workload.yaml >/dev/full", 3, FULL),
    "the version without standard output": ("version >&-", 3, CLOSED),
    "a prediction without standard output": ("predict -f workload.yaml >&-", 3, CLOSED),
    "predict reads a closed standard input": (
        "predict -f - <&-",
        2,
        "standard input: cannot be read: Bad file descriptor; give a file with -f",
    ),
    "plan reads a closed standard input": ("plan -f - <&-", 2, "standard input: cannot be read"),
    "a name in a locale without its characters": (
        "LC_ALL=C PYTHONUTF8=0 explain ü/ä",
        2,
        "is not valid text in this locale; use UTF-8",
    ),
    "local in a directory that was deleted": (
        "@deleted local",
        2,
        "the working directory does not exist any more; change to another one",
    ),
    "demo in a directory that was deleted": (
        "@deleted demo --directory d",
        2,
        "the working directory does not exist any more; change to another one",
    ),
    "a worker's list in a directory that was deleted": (
        "@deleted worker list --hub-kubeconfig x",
        2,
        "--hub-kubeconfig: kubeconfig x does not exist",
    ),
}


@pytest.mark.parametrize("case", STREAMS)
def test_a_process_that_lacks_something_says_so_in_one_line(tmp_path: Path, case: str) -> None:
    line, code, words = STREAMS[case]
    (tmp_path / "workload.yaml").write_text(WORKLOAD)
    variables = ""
    if line.startswith("LC_ALL"):
        variables, _, line = line.partition(" explain ")
        line = f"explain {line}"
    place = "mkdir d && cd d && rmdir ../d && " if line.startswith("@deleted ") else ""
    program = f"{variables} {shlex.quote(sys.executable)} -P -m manager {line.removeprefix('@deleted ')}"
    environment = {"PYTHONPATH": str(ROOT), "HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    done = subprocess.run(
        ["/bin/sh", "-c", place + program], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (code, ""), done.stderr
    (told,) = done.stderr.splitlines()
    assert told.startswith("error: ")
    assert words in told


def test_a_daemon_needs_no_standard_output(tmp_path: Path) -> None:
    """Only what is printed fails: a service is often started with its output closed."""
    program = f"{shlex.quote(sys.executable)} -P -m manager config validate nothing.yaml >&-"
    environment = {"PYTHONPATH": str(ROOT), "HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    done = subprocess.run(
        ["/bin/sh", "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (2, "nothing.yaml: does not exist\n")


CANNOT_SEARCH = """
import os
from typer.testing import CliRunner
from manager.cli.app import app
run = lambda *words: CliRunner().invoke(app, list(words))
run("predict", "-f", "workload.yaml"), run("plan", "-f", "none"), run("simulate", "-f", "none")  # loads what is needed
run("predict-pods", "-f", "none")
os.chmod("closed", 0)
if os.geteuid() == 0:
    os.seteuid(65534)
for command in ("predict", "simulate", "predict-pods", "plan"):
    result = run(command, "-f", "closed/x.yaml")
    assert result.exit_code == 2, result
    assert result.stderr == "error: closed/x.yaml: is not readable: permission denied; run this as a user " \\
        "who may read it, or change its mode\\n", result.stderr
"""


def test_a_file_below_a_directory_that_may_not_be_searched(directory: Path) -> None:
    (directory / "closed").mkdir()
    directory.chmod(0o755)
    program = [sys.executable, "-P", "-c", CANNOT_SEARCH]
    environment = {"PYTHONPATH": str(ROOT), "HOME": str(directory), "PATH": os.environ["PATH"]}
    done = subprocess.run(program, cwd=directory, env=environment, capture_output=True, text=True, check=False)
    (directory / "closed").chmod(0o700)
    assert done.returncode == 0, done.stderr


TOO_LONG = "has a name that is too long; most file systems allow 255 bytes"
ROWS = {
    "predict, a name of 300 characters": Row(("predict", "-f", LONG), 2, TOO_LONG),
    "simulate, a name of 300 characters": Row(("simulate", "-f", LONG), 2, TOO_LONG),
    "predict-pods, a name of 300 characters": Row(("predict-pods", "-f", LONG), 2, TOO_LONG),
    "plan, a name of 300 characters": Row(("plan", "-f", LONG), 2, TOO_LONG),
    "replay, a name of 300 characters": Row(("replay", LONG), 2, TOO_LONG),
    "timeline, a name of 300 characters": Row(("timeline", "a/b", "--journal", LONG), 2, TOO_LONG),
    "shadow report, a name of 300 characters": Row(("shadow", "report", "--journal", LONG), 2, TOO_LONG),
    "a name that is not UTF-8": Row(("explain", BAD_BYTE), 2, 'the argument "a/\\udcff" is not valid text'),
    "an address that is not UTF-8": Row(
        ("status", "--server", os.fsdecode(b"https://\xff:1")), 2, "must be http://HOST:PORT or https://HOST:PORT"
    ),
    "an address with an empty label": Row(
        ("status", "--server", "https://..a:1"), 2, "must be http://HOST:PORT or https://HOST:PORT"
    ),
    "a file with an escape in its name": Row(("predict", "-f", TITLE), 2, "\\x1b]0;owned\\x07: does not exist"),
    "a Workload with an escape in its name": Row(
        ("predict", "-f", "workload.yaml", "--workload", TITLE), 2, "there is no Workload default/\\x1b]0;owned"
    ),
    "a journal with an escape in its name": Row(("replay", TITLE, "--workload", TITLE), 2, "\\x1b]0;owned\\x07: "),
    "a kubeconfig with an escape in its name": Row(
        ("worker", "list", "--hub-kubeconfig", TITLE), 2, "kubeconfig \\x1b]0;owned\\x07 does not exist"
    ),
    "an option with an escape in its name": Row(("status", f"--{TITLE}"), 2, "no such option: --\\x1b]0;owned"),
    "an option that does not exist": Row(
        ("predict", "--modes", "v1.37"), 2, "no such option: --modes; `turnstile predict --help` shows what there is"
    ),
    "a command that does not exist": Row(
        ("worker", "ad"), 2, "no such command 'ad'. Did you mean 'add'?; `turnstile worker --help` shows what there is"
    ),
    "an argument too many": Row(
        ("version", "two"), 2, "got unexpected extra argument(s) (two); `turnstile version --help` shows what there is"
    ),
    "an argument that is missing": Row(
        ("explain",), 2, "missing argument 'WORKLOAD'; `turnstile explain --help` shows what there is"
    ),
    "a form that does not exist": Row(
        ("status", "-o", "xml"), 2, "'xml' is not one of 'table', 'wide', 'json', 'yaml', 'name'"
    ),
    "replay of a directory": Row(("replay", "."), 2, ".: is a directory: name a file in it; journal.path"),
    "replay of a device": Row(("replay", "/dev/null"), 2, "/dev/null: is not a regular file; journal.path"),
    "a file that would take minutes to read": Row(
        ("predict", "-f", "huge.yaml"),
        2,
        "must be at most 16 MiB; write it as JSON, such as with `kubectl get -o json`",
    ),
    "help for a command that does not exist": Row(("help", "nope"), 2, "`turnstile help` lists all"),
    "run without a file": Row(
        ("run",), 2, "name a configuration file with --config (-c) or $TURNSTILE_CONFIG; `turnstile config defaults`"
    ),
    "doctor without a file and without a kubeconfig": Row(
        ("doctor",), 2, "without one, there is no kubeconfig (home/.kube/config); name the hub's with --kubeconfig"
    ),
    "plan without daemon, file and kubeconfig": Row(
        ("plan", "-f", "workload.yaml", "--socket", "none"), 3, "the clusters cannot be read: ", notes=1
    ),
    "a worker's list without a kubeconfig": Row(
        ("worker", "list"), 2, "there is no kubeconfig (home/.kube/config); name the hub's with --hub-kubeconfig"
    ),
    "a socket whose path no system allows": Row(
        ("status", "--socket", LONG), 2, f"--socket: {LONG} is too long for a socket, of at most 107 bytes"
    ),
    "a plan for two namespaces": Row(
        ("plan", "-f", "workload.yaml", "-n", "other"),
        2,
        "the manifest states the namespace team, and -n other another; leave out -n, or change the manifest",
    ),
    "a socket with a path that is too long": Row(
        ("config", "validate", "socket.yaml"), 2, "is not allowed: must be a path of at most 107 bytes"
    ),
    "a daemon with such a path": Row(("run", "-c", "socket.yaml"), 2, "must be a path of at most 107 bytes"),
    "a timeout that is not a duration": Row(
        ("doctor", "--timeout", "abc"), 2, '\'abc\' is not a duration: must be from "1s" to "10m", such as "30s"'
    ),
    "a timeout that is too long": Row(("doctor", "--timeout", "1h"), 2, "'1h' is out of range: must be from"),
    "completion for a shell that is not known": Row(("completion", "csh"), 2, "'csh' is not one of"),
    "names of an overview": Row(
        ("status", "-o", "name"), 2, "there are no names to print here; list workloads, workers, gates or forecasts"
    ),
    "names of findings": Row(("doctor", "-o", "name"), 2, "there are no names to print here; -o json"),
    "finished gates": Row(("status", "gates", "--finished"), 2, "use it with `turnstile status workloads`"),
    "a worker's kubeconfig that is not given": Row(
        ("worker", "add", "w1", "--hub-kubeconfig", "none"), 2, "kubeconfig none does not exist"
    ),
    "a configuration without a socket": Row(
        ("status", "-c", "silent.yaml"), 2, "api.socket is null, so no daemon answers here; ask one with --server"
    ),
}


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Provide a directory with a few files, and an environment without a kubeconfig or a configuration."""
    head = "apiVersion: config.multikueue-turnstile.dev/v1alpha1\nkind: Configuration\n"
    (tmp_path / "workload.yaml").write_text(WORKLOAD)
    (tmp_path / "socket.yaml").write_text(f"{head}api: {{socket: /{'s' * 150}}}\n")
    (tmp_path / "silent.yaml").write_text(f"{head}api: {{socket: null}}\n")
    with (tmp_path / "huge.yaml").open("wb") as file:
        file.truncate(17 << 20)
    monkeypatch.chdir(tmp_path)
    for variable in ("KUBECONFIG", "TURNSTILE_CONFIG", "TURNSTILE_SOCKET", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr("manager.cli.conventions.configuration.CONFIG_FILE", "none/turnstile.yaml")
    monkeypatch.setenv("HOME", "home")
    return tmp_path


@pytest.mark.parametrize("case", ROWS)
def test_a_wrong_input_is_one_line_with_a_remedy(case: str) -> None:
    row = ROWS[case]
    result = CliRunner().invoke(app, list(row.arguments))
    assert (result.exit_code, result.stdout) == (row.code, ""), result.output
    *notes, told = result.stderr.splitlines()
    assert row.words in told
    assert len(notes) == row.notes
    assert not unprintable(result.stderr)


def test_a_workload_without_a_queue_is_mentioned() -> None:
    result = CliRunner().invoke(app, ["simulate", "-f", "workload.yaml"])
    assert result.exit_code == 0
    assert "not-queued: Workload team/wl: LocalQueue missing doesn't exist" in result.stdout


@pytest.mark.parametrize("arguments", [("--version",), ("-V",), ("version",)])
def test_the_version_is_printed(arguments: tuple[str, ...]) -> None:
    result = CliRunner().invoke(app, list(arguments))
    assert (result.exit_code, result.stdout.split()[0]) == (0, "turnstile")


def test_help_is_what_the_option_prints() -> None:
    runner = CliRunner()
    asked = runner.invoke(app, ["help", "worker", "add"], prog_name="turnstile").stdout
    assert asked.rstrip() == runner.invoke(app, ["worker", "add", "--help"], prog_name="turnstile").stdout.rstrip()
