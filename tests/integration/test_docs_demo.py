"""Plays what docs/demo.md says one can try with kubectl, command by command, beside a demo that is kept up."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

DOCUMENT = Path(__file__).parents[2] / "docs" / "demo.md"
STAYS_UP = "The clusters stay up until Ctrl-C."
WORKERS = ("worker-1", "worker-2", "worker-3")
OPENINGS = "multikueue-turnstile.dev/gate-openings"
PATIENCE_SECONDS = 240.0

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed"),
]


@dataclass(frozen=True)
class KeptDemo:
    """A demo whose story is over, in a directory where the document's paths are right."""

    directory: Path
    printed: list[str]
    """What it has printed so far."""
    read_early: str
    """What kubectl printed during the first act."""

    def kubectl(self, cluster: str, *arguments: str) -> str:
        return run(self.directory, f"kubectl --kubeconfig demo/{cluster}/kubeconfig {' '.join(arguments)}")

    def workloads(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self.kubectl("hub", "get", "workloads", "-o", "json"))["items"]
        return found

    def newest(self) -> dict[str, Any]:
        """Return the Workload of the job that was submitted last."""
        return max(self.workloads(), key=lambda each: int(each["metadata"]["resourceVersion"]))


def run(directory: Path, command: str) -> str:
    done = subprocess.run(command.split(), cwd=directory, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}: {done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KeptDemo]:
    directory = tmp_path_factory.mktemp("kept")
    command = [sys.executable, "-m", "manager", "demo", "--keep", "--plain", "--directory", "demo"]
    environment = {**os.environ, "PYTHONPATH": str(DOCUMENT.parents[1])}
    process = subprocess.Popen(command, cwd=directory, stdout=subprocess.PIPE, text=True, env=environment)
    printed: list[str] = []
    reading = threading.Thread(target=lambda: printed.extend(process.stdout or ()))
    reading.start()
    try:
        until(lambda: any(line.startswith("ACT 1") for line in printed))
        early = run(directory, "kubectl --kubeconfig demo/hub/kubeconfig get namespaces")
        until(lambda: any(STAYS_UP in line for line in printed))
        yield KeptDemo(directory, printed, early)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE_SECONDS)
        reading.join(PATIENCE_SECONDS)
        if process.stdout is not None:
            process.stdout.close()


def commands(step: int) -> list[str]:
    """Return the commands of a step of the document's list."""
    section = DOCUMENT.read_text().partition("## With kubectl")[2]
    text = re.split(r"^\d+\. ", section, flags=re.MULTILINE)[step]
    return re.findall(r"^ +\$ (kubectl .*)$", text, flags=re.MULTILINE)


def until(met: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not met():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.1)


def openings(workload: dict[str, Any]) -> list[str]:
    return [each["cluster"] for each in json.loads(workload["metadata"]["annotations"].get(OPENINGS, "[]"))]


def is_finished(workload: dict[str, Any]) -> bool:
    found = workload.get("status", {}).get("conditions", [])
    return any(each["type"] == "Finished" and each["status"] == "True" for each in found)


def test_the_session_of_the_document(demo: KeptDemo) -> None:
    root = str(demo.directory)
    assert "kube-system" in demo.read_early, "the kubeconfigs work from the first act on"
    documented = DOCUMENT.read_text().partition("## With kubectl")[2].partition("…\n")[2].partition("```")[0]
    until(lambda: set(documented.splitlines()) <= {each.rstrip().replace(root, "…") for each in demo.printed})

    demo.kubectl("hub", "create", "-f", "demo/urgent.yaml")
    until(lambda: len(demo.workloads()) == 3 and openings(demo.newest()))
    (shown,) = [run(demo.directory, command) for command in commands(1)]
    assert OPENINGS in shown
    assert "admissionChecks" in shown
    until(lambda: all(map(is_finished, demo.workloads())))
    for worker in WORKERS:
        until(lambda worker=worker: running(demo, worker) == 4)  # type: ignore[misc]

    for command in commands(2):
        run(demo.directory, command)
    until(lambda: len(demo.workloads()) == 4)
    until(lambda: len(set(openings(demo.newest()))) >= 2)
    assert not is_finished(demo.newest())

    for command in commands(3):
        run(demo.directory, command)
    until(lambda: [is_finished(each) for each in demo.workloads()] == [True])
    assert openings(demo.newest()) == []


def running(demo: KeptDemo, worker: str) -> int:
    """Return how many of a worker's own jobs run."""
    jobs = json.loads(demo.kubectl(worker, "get", "jobs", "-o", "json"))["items"]
    mine = [each for each in jobs if each["metadata"]["name"].startswith("batch-")]
    return sum(bool(each.get("status", {}).get("active")) and not each["spec"].get("suspend") for each in mine)
