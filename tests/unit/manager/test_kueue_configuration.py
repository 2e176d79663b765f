"""The Configuration of a worker's Kueue: what it changes, and one sentence for an invalid file."""

from pathlib import Path

import pytest

from config.names import CONFIG_API_VERSION, CONFIG_KIND
from config.sections.settings import Configuration
from engine.objects.configuration import FairSharing
from manager.base.errors import StartupError
from manager.base.from_configuration import kueues_of
from manager.base.kueue_configuration import KueueConfigurationError, load_kueue_configuration

HEAD = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"


def test_without_a_file_kueues_defaults_are_assumed_with_gates() -> None:
    found = load_kueue_configuration(None)
    assert found.fair_sharing is None
    assert found.gates.multi_kueue_orchestrated_preemption


def test_a_file_says_how_the_workers_kueue_is_configured(tmp_path: Path) -> None:
    file = tmp_path / "kueue.yaml"
    file.write_text(f"{HEAD}fairSharing: {{}}\nfeatureGates: {{PartialAdmission: false}}\n")
    found = load_kueue_configuration(file)
    assert found.fair_sharing == FairSharing()
    assert not found.gates.partial_admission
    assert found.gates.multi_kueue_orchestrated_preemption


BOMB = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 40))
BAD = {
    "no file": (None, "does not exist"),
    "no YAML": ("{", "line 1 is not YAML: "),
    "S4 a list without end": ("a: [" + "1," * 200_000 + "1]\n", "holds more than 10000 values"),
    "S4 a megabyte": ("#" * (2 << 20), "is larger than 1024 KiB, which is the limit"),
    "S4 texts that stand for others without end": (BOMB, "holds more than 10000 values"),
    "another kind": ("kind: Pod\n", "expected a Kueue Configuration, with kind: Configuration"),
    "a list": ("[]\n", "expected a Kueue Configuration"),
    "a gate that is neither on nor off": (
        f"{HEAD}featureGates: {{PartialAdmission: 'yes'}}\n",
        "feature gate PartialAdmission: 'yes' is not allowed: true, false",
    ),
    "an unknown strategy": (
        f"{HEAD}fairSharing: {{preemptionStrategies: [Best]}}\n",
        "fairSharing.preemptionStrategies",
    ),
    "a list for a mapping": (f"{HEAD}featureGates: [a]\n", "kueue.yaml: "),
}


@pytest.mark.parametrize(("content", "want"), BAD.values(), ids=BAD)
def test_a_file_of_no_use_is_one_sentence_that_names_it(tmp_path: Path, content: str | None, want: str) -> None:
    file = tmp_path / "kueue.yaml"
    if content is not None:
        file.write_text(content)
    with pytest.raises(KueueConfigurationError) as error:
        load_kueue_configuration(file)
    assert str(error.value).startswith(f"{file}: ")
    assert want in str(error.value)
    assert "\n" not in str(error.value)


def test_the_daemon_does_not_start_with_such_a_file(tmp_path: Path) -> None:
    workers = [{"name": "w1"}, {"name": "w2", "kueue_configuration": str(tmp_path / "none")}]
    configuration = Configuration(api_version=CONFIG_API_VERSION, kind=CONFIG_KIND, workers=workers)
    with pytest.raises(StartupError, match=r"^workers\[1\]\.kueueConfiguration: .*none: does not exist"):
        kueues_of(configuration)
