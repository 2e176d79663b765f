"""kubectl runs the commands as its plugin, and shells complete them."""

import asyncio
import os
import shutil
import stat
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from manager.cli.conventions import completion
from tests.integration.orchestrator.world import running
from tests.screens.camera import ROOT, beside

SCRIPTS = {
    "turnstile": "from manager.cli import main; main()",
    "kubectl-turnstile": "from manager.cli import main; main()",
    "kubectl_complete-turnstile": "from manager.cli.kubectl import complete; complete()",
}
"""As pyproject.toml names them; tests/packaging checks that the wheel installs them."""


def installed(directory: Path) -> dict[str, str]:
    """Put the scripts on a path of their own, as an installation does, and return the environment."""
    for name, body in SCRIPTS.items():
        script = directory / "bin" / name
        script.parent.mkdir(exist_ok=True)
        script.write_text(f"#!{sys.executable} -P\n{body}\n")
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
    path = f"{directory / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return {"HOME": str(directory), "PATH": path, "PYTHONPATH": str(ROOT)}


async def output(environment: dict[str, str], *command: str) -> str:
    done = await asyncio.to_thread(
        subprocess.run, command, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not on PATH")
async def test_kubectl_runs_and_completes_the_plugin(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as made:
        made.queue("training")
        await made.settled()
        environment = installed(tmp_path)
        async with beside(made, tmp_path) as camera:
            listed = await output(
                environment, "kubectl", "turnstile", "status", "workloads", "-o", "name", *camera.hidden
            )
            assert listed == "workload.kueue.x-k8s.io/training\n"
            told = await output(environment, "kubectl", "turnstile", "explain", "--help")
            assert told.startswith("Usage: kubectl turnstile explain ")
            words = ("kubectl", "__complete", "turnstile")
            assert await output(environment, *words, "status", "w") == "workloads\nworkers\n:4\n"
            explain = (*words, "explain", *camera.hidden)
            assert await output(environment, *explain, "team/t") == "team/training\n:4\n"
            assert await output(environment, *explain, "-n", "team", "") == "training\n:4\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
async def test_shells_complete_workloads(tmp_path: Path, shell: str) -> None:
    async with running(tmp_path, "w1") as made:
        made.queue("training")
        await made.settled()
        environment = installed(tmp_path)
        async with beside(made, tmp_path) as camera:
            line = f"turnstile explain {' '.join(camera.hidden)} team/"
            asked = {
                "_TURNSTILE_COMPLETE": f"complete_{shell}",
                "_TYPER_COMPLETE_ARGS": line,
                "_TYPER_COMPLETE_FISH_ACTION": "get-args",
                "COMP_WORDS": line,
                "COMP_CWORD": str(len(line.split()) - 1),
            }
            assert "team/training" in await output(environment | asked, "turnstile")


@dataclass
class Typed:
    """What is known of a command line that is being typed."""

    params: dict[str, object]


async def test_workloads_are_completed_from_the_hub_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(tmp_path, "w1") as made:
        made.queue("training")
        await made.settled()
        complete = ("kubectl_complete-turnstile", "explain", "--socket", str(tmp_path / "none"))
        assert await output(installed(tmp_path), *complete, "team/") == ":4\n", "there is no kubeconfig"
        monkeypatch.setattr(completion, "SECONDS", 60.0)  # here it is to succeed, however busy the machine is
        typed = Typed({"socket": str(tmp_path / "none"), "kubeconfig": str(made.hub.local.kubeconfig_path)})
        assert await asyncio.to_thread(completion.complete_workload, typed, "team/t") == ["team/training"]
        assert await asyncio.to_thread(completion.complete_workload, typed, "other/") == []
        await made.stop()
        await made.hub.local.stop()
        assert await asyncio.to_thread(completion.complete_workload, typed, "team/t") == []


@pytest.mark.parametrize(
    ("shell", "line"),
    [("bash", "complete -o default -F"), ("zsh", "#compdef turnstile"), ("fish", "complete --command turnstile")],
)
async def test_the_script_of_each_shell_is_printed_or_installed(tmp_path: Path, shell: str, line: str) -> None:
    environment = installed(tmp_path) | {"SHELL": "/bin/bash"}
    printed = await output(environment, "turnstile", "completion", shell)
    assert line in printed
    told = await output(environment, "turnstile", "completion", shell, "--install")
    path = Path(told.removeprefix("installed in ").partition(";")[0])
    assert path.is_relative_to(tmp_path)
    assert line in await asyncio.to_thread(path.read_text)


async def test_namespaces_workers_and_contexts_are_completed(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as made:
        made.queue("training")
        await made.settled()
        environment = installed(tmp_path) | {"KUBECONFIG": str(made.hub.local.kubeconfig_path)}
        async with beside(made, tmp_path) as camera:
            complete = ("kubectl_complete-turnstile",)
            asked = (*complete, "status", *camera.hidden)
            assert await output(environment, *asked, "-n", "") == "team\n:4\n"
            assert await output(environment, *asked, "--context", "") == "hub\n:4\n"
            environment["TURNSTILE_SOCKET"] = camera.hidden[1]
            assert await output(environment, *complete, "worker", "remove", "w") == "w1\n:4\n"
            assert await output(environment, *complete, "doctor", "--worker", "") == "w1\n:4\n"
