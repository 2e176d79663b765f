"""`turnstile predict` says where pods go, given Topologies, Nodes and Pods."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from manager.cli.app import app
from tests.unit.engine.topology.recorded import scenarios


def predicted(name: str, folder: Path, *options: str, without: str = "") -> str:
    """Return what the command prints about the objects of a scenario."""
    scenario = scenarios()[name]
    objects = [raw for raw in scenario["objects"] if raw["kind"] != without]
    file = folder / "objects.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    result = CliRunner().invoke(app, ["predict", "-f", str(file), "--now", scenario["now"], *options])
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("4", "pod set main goes to kubernetes.io/hostname h11: 4, h12: 2"),
        ("76", "pod set main goes to kubernetes.io/hostname h11: 4, h12: 2, once the victims are gone"),
        ("27a", "pod set main goes to rack r1: 2"),
        ("38", "pod set main goes to kubernetes.io/hostname no domain"),
        ("96", "pod set main gets its nodes later"),
    ],
)
def test_the_domains_are_said(name: str, sentence: str, tmp_path: Path) -> None:
    lines = [line.strip() for line in predicted(name, tmp_path).splitlines()]
    assert sentence in lines


def test_what_is_only_kept_is_no_place(tmp_path: Path) -> None:
    assert "goes to" not in predicted("77", tmp_path)


def test_data_has_every_domain(tmp_path: Path) -> None:
    (item,) = json.loads(predicted("4", tmp_path, "-o", "json"))["items"]
    assert item["podSets"][0]["topology"] == {
        "levels": ["kubernetes.io/hostname"],
        "domains": [{"values": ["h11"], "count": 4}, {"values": ["h12"], "count": 2}],
    }


def test_without_a_topology_among_the_objects_nothing_is_guessed(tmp_path: Path) -> None:
    assert "unsupported: topology-aware-scheduling" in predicted("4", tmp_path, without="Topology")
