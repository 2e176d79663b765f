"""kubectl and what it prints, for whole files of manifests."""

import os
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

Manifest = dict[str, Any]
KUSTOMIZATIONS = Path(__file__).resolve().parents[2] / "deploy" / "kustomize"


@dataclass(frozen=True, slots=True)
class Kubectl:
    """kubectl with the credentials of one server, and nothing of the user's."""

    program: str
    kubeconfig: Path
    home: Path

    def run(self, *arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
        """Run and return the outcome, whatever it is."""
        return self.script(self.program, *arguments, given=given)

    def script(self, *command: str | Path, given: str = "") -> subprocess.CompletedProcess[str]:
        """Run a program that calls kubectl."""
        return subprocess.run(
            command,
            input=given,
            capture_output=True,
            text=True,
            check=False,
            env={"PATH": os.environ.get("PATH", ""), "HOME": str(self.home), "KUBECONFIG": str(self.kubeconfig)},
        )

    def complaints(self, manifests: Iterable[Manifest]) -> str:
        """Return what the server has against the manifests: errors, unknown fields, warnings; nothing is stored."""
        flags = ("--server-side", "--dry-run=server", "--validate=strict", "--field-manager=test", "--force-conflicts")
        return self.run("apply", *flags, "-f", "-", given=dumped(manifests)).stderr


def dumped(manifests: Iterable[Manifest]) -> str:
    """Return manifests as one YAML text."""
    return yaml.safe_dump_all(manifests)


def parsed(text: str) -> list[Manifest]:
    """Return the manifests of a YAML text."""
    return [document for document in yaml.load_all(text, yaml.CSafeLoader) if document]


def only(manifests: Iterable[Manifest], kind: str) -> Manifest:
    """Return the one manifest of a kind."""
    (found,) = of_kind(manifests, kind)
    return found


def of_kind(manifests: Iterable[Manifest], kind: str) -> list[Manifest]:
    """Return the manifests of a kind."""
    return [manifest for manifest in manifests if manifest["kind"] == kind]


def kustomized(program: str, name: str) -> list[Manifest]:
    """Return what a kustomization of this repository is built to."""
    command = [program, "kustomize", str(KUSTOMIZATIONS / name)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return parsed(done.stdout)
