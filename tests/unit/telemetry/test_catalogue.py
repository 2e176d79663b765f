"""Names, labels and docs of the metrics, and everything that refers to them."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from manager.metrics.families import Family, MetricType
from manager.reference.metrics import EVERY_FAMILY, with_table

ROOT = Path(__file__).resolve().parents[3]
FAMILIES = {family.name: family for family in EVERY_FAMILY}
DASHBOARD = ROOT / "deploy" / "grafana" / "turnstile.json"
FROM_LIBRARY = {"process_resident_memory_bytes": set[str](), "process_cpu_seconds_total": set[str]()}
OF_SCRAPES = {"job", "namespace", "instance"}


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_a_name_follows_the_conventions(family: Family) -> None:
    assert re.fullmatch(r"(turnstile|multikueue)(_[a-z]+)+", family.name)
    assert family.name.endswith("_total") == (family.kind is MetricType.COUNTER)
    assert not re.search(r"_(count|sum|bucket)$", family.name)
    assert family.kind is not MetricType.HISTOGRAM or family.name.endswith("_seconds")
    assert not re.search(r"(milliseconds|minutes|percent|_ms)", family.name)
    assert family.kind is MetricType.HISTOGRAM or family.buckets == ()


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_a_meaning_is_a_sentence_and_labels_are_bounded(family: Family) -> None:
    assert family.meaning.endswith(".")
    assert set(family.labels) <= {
        *("cluster", "cluster_queue", "replica_role", "reason", "result", "verdict", "status", "invariant", "origin"),
        *("version", "python", "gated", "policy", "operation", "worker", "state", "source"),
    }


def test_no_two_share_a_name() -> None:
    assert len(FAMILIES) == len(EVERY_FAMILY)


def test_the_docs_list_every_metric() -> None:
    page = (ROOT / "docs" / "metrics.md").read_text()
    assert page == with_table(page), "`make docs` renews the table"


def test_a_page_without_markers_is_refused() -> None:
    with pytest.raises(ValueError, match="metrics-table:begin"):
        with_table("nothing")


def test_the_dashboard_is_what_its_source_says() -> None:
    source = ROOT / "deploy" / "grafana" / "dashboard.py"
    made = subprocess.run([sys.executable, "-P", str(source)], capture_output=True, text=True, check=True).stdout
    assert made == DASHBOARD.read_text(), "`make docs` makes it again"


def alerts() -> list[str]:
    groups = yaml.safe_load((ROOT / "deploy/prometheus/rules.yaml").read_text())["groups"]
    return [rule["alert"] for group in groups for rule in group["rules"]]


def test_the_dashboard_is_sane() -> None:
    board = json.loads(DASHBOARD.read_text())
    panels = board["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    assert len({panel["title"] for panel in panels}) == len(panels)
    cells = [cell for panel in panels for cell in covered(panel["gridPos"])]
    assert len(cells) == len(set(cells)), "panels lie on each other"
    assert all(x < 24 for x, _ in cells)
    drawn = [panel for panel in panels if panel["type"] != "row"]
    assert all(panel["targets"] and panel["datasource"]["uid"] == "${datasource}" for panel in drawn)
    chosen = [each["name"] for each in board["templating"]["list"]]
    assert chosen == ["datasource", "job", "namespace", "cluster", "cluster_queue"]
    assert [panel["repeat"] for panel in panels if "repeat" in panel] == ["cluster_queue"]
    judged = [panel for panel in drawn if panel["fieldConfig"]["defaults"].get("thresholds")]
    assert {panel["type"] for panel in judged} == {"stat", "timeseries"}
    for panel in judged:
        steps = panel["fieldConfig"]["defaults"]["thresholds"]["steps"]
        values = [step["value"] for step in steps]
        assert values[0] is None
        assert values[1:] == sorted(values[1:]), panel["title"]
        (link,) = panel["links"]
        assert link["url"].rpartition("#")[2] in {name.lower() for name in alerts()}, "it leads to its alert's section"
    assert [each["name"] for each in board["annotations"]["list"]] == ["Leader changes", "New versions", "Alerts"]


def covered(place: dict[str, int]) -> Iterator[tuple[int, int]]:
    for x in range(place["x"], place["x"] + place["w"]):
        for y in range(place["y"], place["y"] + place["h"]):
            yield x, y


def expressions() -> Iterator[tuple[str, str]]:
    """Return every expression of the dashboard and the alerts with where it stands."""
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        for target in panel.get("targets", ()):
            yield f"panel {panel['title']} {target['refId']}", target["expr"]
    rules: dict[str, Any] = yaml.safe_load((ROOT / "deploy" / "prometheus" / "rules.yaml").read_text())
    for group in rules["groups"]:
        for rule in group["rules"]:
            yield f"alert {rule['alert']}", rule["expr"]


EXPRESSIONS = dict(expressions())


@pytest.mark.parametrize("place", EXPRESSIONS)
def test_what_is_asked_for_exists_with_these_labels(place: str) -> None:
    expression = EXPRESSIONS[place]
    named = re.findall(r"((?:turnstile|multikueue|process)_\w+)(?:\{([^}]*)\})?", expression)
    assert named
    known: set[str] = set(OF_SCRAPES)
    for name, selector in named:
        labels = labels_of(name)
        assert labels is not None, f"{name} does not exist"
        known |= labels
        assert set(re.findall(r"(\w+)\s*[!=]=?~?\"", selector)) <= labels | OF_SCRAPES, name
    grouped = {label for group in re.findall(r"(?:by|on) \(([^)]*)\)", expression) for label in group.split(", ")}
    assert grouped <= known


def labels_of(name: str) -> set[str] | None:
    if name in FROM_LIBRARY:
        return FROM_LIBRARY[name]
    if name in FAMILIES and FAMILIES[name].kind is not MetricType.HISTOGRAM:
        return set(FAMILIES[name].labels)
    base, _, part = name.rpartition("_")
    family = FAMILIES.get(base)
    if family is None or family.kind is not MetricType.HISTOGRAM or part not in ("bucket", "count", "sum"):
        return None
    return {*family.labels, "le"} if part == "bucket" else set(family.labels)
