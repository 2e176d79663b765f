"""`turnstile demo` as a user starts it: as plain lines, on a terminal, interrupted, and with wrong input."""

import base64
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from ssl import create_default_context
from urllib.request import HTTPSHandler, ProxyHandler, Request, build_opener

import pytest
import yaml

README = Path(__file__).resolve().parents[2] / "README.md"
COMMAND = (sys.executable, "-m", "manager", "demo")
READY_TO_TRY = "The clusters stay up until Ctrl-C."
CLUSTERS = ("hub", "worker-1", "worker-2", "worker-3")
PATIENCE = 240
CTRL_C = "\x03"
ALTERNATE_SCREEN, NORMAL_SCREEN, SHOWN_CURSOR = "\x1b[?1049h", "\x1b[?1049l", "\x1b[?25h"


@dataclass(frozen=True)
class Plays:
    """Two demos that ran side by side, because each takes its time."""

    plain: subprocess.CompletedProcess[str]
    kept: subprocess.CompletedProcess[str]
    folder: Path
    looked: str
    """The Workloads on the hub while the second was kept up."""
    status: str
    """What its daemon then answered."""
    leftovers: list[Path]


def start(*arguments: str | Path, temporary: Path) -> subprocess.Popen[str]:
    environment = {**os.environ, "TMPDIR": str(temporary)}
    return subprocess.Popen(
        [*COMMAND, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )


def read_until(process: subprocess.Popen[str], text: str) -> str:
    assert process.stdout is not None
    read = ""
    for line in process.stdout:
        read += line
        if text in line:
            return read
    pytest.fail(f"the demo ended before it printed {text!r}: {read}{process.communicate()[1]}")


def finish(process: subprocess.Popen[str], read: str = "") -> subprocess.CompletedProcess[str]:
    """Wait for the end; not with `communicate`, which forgets what was buffered while lines were read."""
    assert process.stdout is not None
    assert process.stderr is not None
    out, err = process.stdout.read(), process.stderr.read()
    return subprocess.CompletedProcess(process.args, process.wait(PATIENCE), read + out, err)


def look(folder: Path) -> str:
    """Ask the hub for its Workloads through its kubeconfig, as kubectl would."""
    kubeconfig = yaml.safe_load((folder / "hub/kubeconfig").read_text())
    cluster, user = kubeconfig["clusters"][0]["cluster"], kubeconfig["users"][0]["user"]
    authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
    request = Request(  # noqa: S310 - the scheme is what the kubeconfig says, and the test's own
        f"{cluster['server']}/apis/kueue.x-k8s.io/v1beta2/workloads",
        headers={"Authorization": f"Bearer {user['token']}"},
    )
    opener = build_opener(ProxyHandler({}), HTTPSHandler(context=create_default_context(cadata=authority)))
    with opener.open(request, timeout=PATIENCE) as answer:
        return " ".join(item["metadata"]["name"] for item in json.load(answer)["items"])


@pytest.fixture(scope="module")
def plays(tmp_path_factory: pytest.TempPathFactory) -> Plays:
    temporary, folder = tmp_path_factory.mktemp("temporary"), tmp_path_factory.mktemp("k")
    with start(temporary=temporary) as plain, start("--keep", "--directory", folder, temporary=temporary) as kept:
        try:
            read = read_until(kept, READY_TO_TRY)
            looked = look(folder)
            status = subprocess.run(
                [*COMMAND[:-1], "status", "--socket", folder / "api.sock"], capture_output=True, text=True, check=True
            ).stdout
            kept.send_signal(signal.SIGINT)
            kept_done, plain_done = finish(kept, read), finish(plain)
        finally:
            for process in (plain, kept):
                if process.poll() is None:
                    process.kill()
    return Plays(plain_done, kept_done, folder, looked, status, list(temporary.iterdir()))


def test_the_story_is_told_and_every_invariant_holds(plays: Plays) -> None:
    assert plays.plain.stderr == ""
    assert plays.plain.returncode == 0, plays.plain.stdout
    told = plays.plain.stdout
    assert re.findall(r"^ACT (\d) of 4", told, re.MULTILINE) == ["1", "2", "3", "4"]
    assert re.search(r"=> CPUs in use: worker-1 8 of 8, worker-2 8 of 8, worker-3 8 of 8", told)
    assert re.search(r"=> urgent-a ran on worker-(\d); preempted: 2 on worker-\1\n", told)
    assert re.fullmatch(r"  page: +http://127\.0\.0\.1:\d+/ui/#k=[\w-]{43}", told.splitlines()[1])
    assert max(map(len, told.splitlines()[5:])) < 80
    assert re.search(r"=> batch-\d and batch-\d ignore it: urgent-b cannot start", told)
    assert re.search(r"hub +Job urgent-b is complete, with the worker's status", told)
    assert len(re.findall(r"^  ok      ", told, re.MULTILINE)) == 8
    assert "FAILED" not in told
    assert told.partition("All 8 held.\n")[2].startswith("\nNext:\n")


def test_forecasts_are_told_before_gates_open_and_come_true(plays: Plays) -> None:
    for act in plays.plain.stdout.split("ACT ")[2:4]:
        foretold = dict(re.findall(r"(worker-\d) +=> forecast: (.*) would be preempted", act))
        assert sorted(foretold) == ["worker-1", "worker-2", "worker-3"]
        before, after = re.split(r"(?=worker-\d +GATE OPEN)", act, maxsplit=1)
        assert before.count("=> forecast: ") == 3
        worker = after.split()[0]
        assert foretold[worker] == " and ".join(sorted(re.findall(rf"{worker} +(batch-\d) is preempted", after)))
        assert re.search(rf"{worker} +=> {foretold[worker]} preempted, as forecast", after)
    assert "Workers preempted 6 times, 6 times exactly the jobs that were forecast.\n" in plays.plain.stdout


def test_the_readme_shows_lines_that_are_printed_in_that_order(plays: Plays) -> None:
    shown = re.search(r"<!-- demo -->\n```console\n\$ make demo\n(.*?)```", README.read_text(), re.DOTALL)
    assert shown is not None
    printed = iter(map(comparable, plays.plain.stdout.splitlines()))
    for line in shown.group(1).splitlines():
        assert line == "…" or comparable(line) in printed, line


def comparable(line: str) -> str:
    """Return a line without its numbers: times, and which worker came first, differ from one run to the next."""
    return re.sub(r" *\d+(\.\d+)?", "N", line)


def test_the_turn_passes_on_after_the_timeout(plays: Plays) -> None:
    passed = re.search(r"=> its window opened ([\d.]+) s after (worker-\d)'s", plays.plain.stdout)
    assert passed is not None
    stuck = re.search(r"(worker-\d) +=> batch-\d and batch-\d ignore it", plays.plain.stdout)
    assert stuck is not None
    assert passed.group(2) == stuck.group(1)


def test_without_gates_more_jobs_are_preempted(plays: Plays) -> None:
    rows = re.findall(
        r"^  (with Turnstile's gates|without gates) +(\d+) +(\d+) +(\d+) +(\d+)$", plays.plain.stdout, re.MULTILINE
    )
    (_, *gated), (_, *ungated) = rows
    with_gates, without_gates = [[int(cell) for cell in row] for row in (gated, ungated)]
    assert sum(with_gates[:3]) == with_gates[3]
    assert sum(without_gates[:3]) == without_gates[3]
    assert without_gates[3] > with_gates[3] > 0
    seen = plays.plain.stdout.split("ACT 4 of 4")
    act_two = seen[0].split("ACT 2 of 4")[1].split("ACT 3 of 4")[0]
    assert act_two.count("is preempted and told to stop") == with_gates[3]
    assert seen[1].count("is preempted and told to stop") == without_gates[3]


def test_the_clusters_can_be_looked_at_while_they_are_kept(plays: Plays) -> None:
    assert plays.kept.returncode == 0, plays.kept.stdout + plays.kept.stderr
    assert plays.kept.stderr == ""
    assert re.fullmatch(r"job-urgent-a-\w+ job-urgent-b-\w+", plays.looked)
    assert "workers    3 of 3 connected" in plays.status
    for cluster in CLUSTERS:
        assert (plays.folder / cluster / "kubeconfig").stat().st_mode & 0o077 == 0
    assert f"kubectl --kubeconfig {plays.folder}/hub/kubeconfig create -f {plays.folder}/urgent.yaml" in (
        plays.kept.stdout
    )
    assert "workload.decided" in (plays.folder / "daemon.log").read_text()


def test_nothing_is_left_behind(plays: Plays) -> None:
    assert plays.leftovers == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_it_in_order(number: signal.Signals, tmp_path: Path) -> None:
    with start(temporary=tmp_path) as process:
        read = read_until(process, "GATE OPEN for urgent-a")
        process.send_signal(number)
        done = finish(process, read)
    assert done.returncode == 128 + number
    assert done.stderr == ""
    assert done.stdout.endswith("ended before the story was over; the clusters are gone, and nothing is left behind\n")
    assert list(tmp_path.iterdir()) == []


def test_a_reader_who_goes_away_ends_it_quietly(tmp_path: Path) -> None:
    with start(temporary=tmp_path) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(PATIENCE) == 141
        assert process.stderr.read() == ""
    assert list(tmp_path.iterdir()) == []


def press(key: str, leader: int, process: subprocess.Popen[bytes]) -> None:
    """Press a key; Ctrl-C is a signal, because this terminal controls no session."""
    if key == CTRL_C:
        process.send_signal(signal.SIGINT)
    else:
        os.write(leader, key.encode())


def on_terminal(
    columns: int, rows: int, until: str, temporary: Path, keys: Mapping[str, str] | None = None
) -> tuple[str, int]:
    """Run on a terminal of that size, press a key when a text appears; after the last Ctrl-C, return what was written.

    `keys` are pressed in their order, each when the text that it is kept under appears after the one before.
    """
    pending = [*(keys or {}).items(), (until, CTRL_C)]
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    environment = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "LINES", "NO_COLOR")}
    environment |= {"TERM": "xterm-256color", "TMPDIR": str(temporary)}
    process = subprocess.Popen(
        COMMAND, stdin=follower, stdout=follower, stderr=follower, env=environment, start_new_session=True
    )
    os.close(follower)
    written, read = b"", 0
    try:
        while select.select([leader], [], [], PATIENCE)[0]:
            try:
                written += os.read(leader, 65536)
            except OSError:  # the other end is closed: the demo is over
                break
            if pending and pending[0][0] in written[read:].decode(errors="replace"):
                press(pending.pop(0)[1], leader, process)
                read = len(written)
        # A frame that a signal cuts short may end within a character.
        return written.decode(errors="replace"), process.wait(PATIENCE)
    finally:
        os.close(leader)
        if process.poll() is None:
            process.kill()
            process.wait()


def test_a_terminal_shows_a_live_screen_and_is_given_back(tmp_path: Path) -> None:
    written, code = on_terminal(80, 24, "GATE OPEN", tmp_path)

    assert code == 130
    drawn = written[written.index(ALTERNATE_SCREEN) : written.index(NORMAL_SCREEN)]
    for text in ("turnstile demo", "Act 1 of 4", "Act 2 of 4", "worker-1", "worker-3", "hub", "batch-4", "running"):
        assert text in drawn
    after = written[written.index(NORMAL_SCREEN) :]
    assert SHOWN_CURSOR in written[written.rindex("\x1b[?25l") :]
    assert "Traceback" not in after
    assert list(tmp_path.iterdir()) == []


def test_keys_hold_the_story_go_on_and_end_it(tmp_path: Path) -> None:
    keys = {"next act in": "n", "Act 2 of 4": " ", "held: space goes on": " ", "would stop": "q"}
    written, code = on_terminal(80, 24, NORMAL_SCREEN, tmp_path, keys)

    assert code == 130
    after = written[written.rindex(NORMAL_SCREEN) :]
    assert "ended before the story was over" in after
    assert list(tmp_path.iterdir()) == []


def test_a_terminal_that_is_too_small_gets_lines(tmp_path: Path) -> None:
    written, code = on_terminal(79, 24, "ACT 1 of 4", tmp_path)

    assert code == 130
    assert ALTERNATE_SCREEN not in written


@pytest.mark.parametrize(
    ("arguments", "want"),
    [
        pytest.param(("--fast",), "error: no such option: --fast; `turnstile demo --help`", id="an unknown option"),
        pytest.param(("--directory", "file/demo"), "error: --directory: cannot write to ", id="below a file"),
    ],
)
def test_wrong_input_is_refused(arguments: tuple[str, ...], want: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    root = Path(__file__).resolve().parents[2]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    done = subprocess.run(
        [*COMMAND, *arguments], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert want in done.stderr
    assert "Traceback" not in done.stderr
