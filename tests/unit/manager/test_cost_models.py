"""Cost models come from Turnstile or from installed packages; what cannot be used is named in one sentence."""

import re
from pathlib import Path

import pytest

from engine.cost.models import SHIPPED, progress
from manager.cost.models import ModelError, load_model
from tests.support.cost_plugins import install
from tests.unit.engine.cost.cases import facts, preempted

SOURCE = """
def squared(facts):
    return facts.preemptions ** 2

number = 7
"""


def test_a_shipped_model() -> None:
    assert load_model("progress") is progress


def test_a_model_of_an_installed_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(install(tmp_path / "site", "our-models-a", SOURCE, squared="squared"))
    assert load_model("squared")(facts(workload=preempted(3))) == 9


def test_the_example_in_the_documentation_is_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).resolve().parents[3] / "docs" / "cost-controller.md").read_text()
    (source,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (offer,) = re.findall(r'^([a-z-]+) = "our_costs:([a-z_]+)"$', page, re.MULTILINE)
    assert len(source.splitlines()) <= 10
    monkeypatch.syspath_prepend(install(tmp_path / "site", "our-costs", source, **dict([offer])))
    model = load_model(offer[0])
    assert model(facts(workload=preempted(2, pods=16))) > model(facts(workload=preempted(0, pods=16)))


def test_a_name_that_no_package_offers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(install(tmp_path / "site", "our-models-b", SOURCE, squared="squared"))
    want = '"cubed" is not installed: must be one of checkpoint, progress, reference, squared'
    with pytest.raises(ModelError, match=f"^{want}$"):
        load_model("cubed")


@pytest.mark.parametrize("name", SHIPPED)
def test_a_name_that_ships_cannot_be_taken(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(install(tmp_path / "site", "our-models-c", SOURCE, **{name: "squared"}))
    with pytest.raises(ModelError, match=f'^"{name}" ships with Turnstile and is also offered by our-models-c'):
        load_model(name)


def test_a_name_that_two_offer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("our-models-d", "our-models-e"):
        monkeypatch.syspath_prepend(install(tmp_path / package, package, SOURCE, squared="squared"))
    with pytest.raises(ModelError, match=r'^"squared" is offered by several packages: our-models-d, our-models-e$'):
        load_model("squared")


@pytest.mark.parametrize(
    ("source", "function", "want"),
    [
        ("import nothing_of_that_name", "f", "cannot be loaded: ModuleNotFoundError: No module named"),
        ("x = 1 / 0", "f", "cannot be loaded: ZeroDivisionError"),
        ("", "f", "cannot be loaded: AttributeError"),
        (SOURCE, "number", "is not a function"),
    ],
    ids=["imports what is missing", "raises", "lacks the function", "a number"],
)
def test_a_package_that_cannot_be_used(
    source: str, function: str, want: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = f"our-models-{abs(hash((source, function)))}"
    monkeypatch.syspath_prepend(install(tmp_path / "site", package, source, mine=function))
    with pytest.raises(ModelError, match=rf'^"mine" \(.* of {package}\) {want}'):
        load_model("mine")
