"""A bed on the command line: `python -m tests.realbed up|status|down`.

`up` starts a supervisor in the background, which holds the bed; whatever happens to it, the bed ends with it.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from tests.realbed import bed, build, try_it
from tests.realbed.cluster import REPOSITORY
from tests.realbed.kueue import KueueOptions
from tests.realbed.processes import ProcessError, wait_until

_DIRECTORY = REPOSITORY / ".turnstile-bed"
_STOP_SECONDS = 60.0
_MOST_WORKERS = 20


def main() -> int:
    """Run one command; return the exit code."""
    arguments = _parser().parse_args()
    return int(arguments.command(arguments))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.realbed", description=__doc__)
    commands = parser.add_subparsers(required=True)
    for name, command, text in (
        ("up", _up, "start a hub and workers on real Kueue and return when they are ready"),
        ("status", _status, "tell whether the bed is up"),
        ("down", _down, "stop the bed"),
        ("serve", _serve, "hold a bed in the foreground until Ctrl-C"),
    ):
        each = commands.add_parser(name, help=text)
        each.set_defaults(command=command)
        each.add_argument("--directory", type=Path, default=_DIRECTORY, help="where its files are")
        if name in ("up", "serve"):
            each.add_argument("--workers", type=_worker_count, default=2, help="how many workers (1 to 20)")
            each.add_argument(
                "--feature-gates", type=_feature_gates, default={}, help="of the workers' Kueue: NAME=true|false,…"
            )
    return parser


def _worker_count(text: str) -> int:
    if not text.isdigit() or not 1 <= int(text) <= _MOST_WORKERS:
        raise argparse.ArgumentTypeError(f"{text!r} is not allowed: a whole number from 1 to {_MOST_WORKERS}")
    return int(text)


def _feature_gates(text: str) -> dict[str, bool]:
    gates = {}
    for item in filter(None, text.split(",")):
        name, _, value = item.partition("=")
        if not name.isalnum() or value not in ("true", "false"):
            raise argparse.ArgumentTypeError(f"{item!r} is not allowed: NAME=true or NAME=false, separated by commas")
        gates[name] = value == "true"
    return gates


def _up(arguments: argparse.Namespace) -> int:
    directory: Path = arguments.directory
    if _supervisor(directory) is not None:
        return _say(f"a bed is up already; `down` stops it\n{_state(directory)}".rstrip())
    directory.mkdir(parents=True, exist_ok=True)
    _state_file(directory).unlink(missing_ok=True)
    gates = ",".join(f"{name}={str(value).lower()}" for name, value in arguments.feature_gates.items())
    command = [sys.executable, "-m", "tests.realbed", "serve", "--directory", directory]
    command += ["--workers", arguments.workers, f"--feature-gates={gates}"]
    log = directory / "supervisor.log"
    with log.open("wb") as output:
        supervisor = subprocess.Popen(
            [str(each) for each in command],
            cwd=REPOSITORY,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    _say("starting; the first time the binaries are built, which takes minutes")
    while supervisor.poll() is None:
        if lines := _state(directory):
            return _say(lines)
        time.sleep(0.2)
    sys.stderr.write(log.read_text())
    return 1


def _serve(arguments: argparse.Namespace) -> int:
    directory: Path = arguments.directory.resolve()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _leave)
    try:
        _note(directory, [])
        build.install_go()
        options = bed.BedOptions(arguments.workers, worker=KueueOptions(feature_gates=arguments.feature_gates))
        with bed.run(directory, options) as running:
            lines = _lines(running, try_it.furnish(running))
            _note(directory, lines)
            _say("\n".join(lines))
            while True:
                signal.pause()
    except (build.ToolchainError, ProcessError, OSError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    except KeyboardInterrupt:
        return 0
    finally:
        _state_file(directory).unlink(missing_ok=True)


def _leave(_number: int, _frame: object) -> None:
    # A second signal must not interrupt the stopping of what was started.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def _status(arguments: argparse.Namespace) -> int:
    if _supervisor(arguments.directory) is None:
        _say("no bed is up")
        return 1
    return _say(_state(arguments.directory) or "starting")


def _down(arguments: argparse.Namespace) -> int:
    pid = _supervisor(arguments.directory)
    if pid is None:
        return _say("no bed is up")
    os.kill(pid, signal.SIGTERM)
    wait_until(lambda: _supervisor(arguments.directory) is None, seconds=_STOP_SECONDS, what="the bed to stop")
    return _say("stopped")


def _lines(running: bed.Bed, configuration: Path) -> list[str]:
    clusters = [running.hub, *running.workers.values()]
    return [
        *(f"{each.name:<10} export KUBECONFIG={each.kubeconfig}" for each in clusters),
        f"try: turnstile run --config {configuration}",
    ]


def _state_file(directory: Path) -> Path:
    return directory / "state.json"


def _note(directory: Path, lines: list[str]) -> None:
    """Write down who holds the bed, and how to use it once it is ready; readers see all of it or what was before."""
    directory.mkdir(parents=True, exist_ok=True)
    unfinished = directory / "state.unfinished"
    unfinished.write_text(json.dumps({"pid": os.getpid(), "lines": lines}))
    unfinished.rename(_state_file(directory))


def _state(directory: Path) -> str:
    with suppress(FileNotFoundError):
        return "\n".join(json.loads(_state_file(directory).read_text())["lines"])
    return ""


def _supervisor(directory: Path) -> int | None:
    """Return the process that holds the bed, None if there is none; numbers are reused, so its name is checked."""
    with suppress(OSError, ValueError, KeyError):
        pid = int(json.loads(_state_file(directory).read_text())["pid"])
        if b"tests.realbed" in Path(f"/proc/{pid}/cmdline").read_bytes():
            return pid
    return None


def _say(text: str) -> int:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
