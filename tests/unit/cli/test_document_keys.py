"""Every key of every JSON document is spelt in camelCase."""

import ast
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from config.api.identifiers import ReplicaUID
from engine.forecasting.forecast import Cost, Forecast, ForecastVerdict, ForecastVictim
from engine.forecasting.verification import ForecastResult
from engine.pod_outlook.values import PodCost, PodOutcome, PodOutlook, PodVerdict, PodVictim
from gates.model.forecasts import ForecastRecord
from gates.model.pod_records import PodRecord
from gates.model.rules import Rule
from gates.model.settings import SECOND
from gates.reports.explanation import (
    NextKind,
    NextStep,
    OpenGateReport,
    ReplicaReport,
    ReplicaState,
    WorkerExplanation,
    WorkloadExplanation,
    explanation_document,
    unreadable_document,
)
from gates.wire.record_readers import hub_record
from manager.cli.app import app
from tests.support.builders import cluster, cluster_queue, workload
from tests.support.document_keys import misspelt_keys
from tests.support.pod_builders import budget, node, pod
from tests.support.shadow_journals import episode
from tests.support.shadow_journals import write as write_episodes
from tests.support.worker_names import W1
from tests.unit.gates.groups import NOW
from tests.unit.manager.journals import look, write

ROOT = Path(__file__).resolve().parents[3]
BUILDERS = (
    "gates/reports",
    "gates/planning",
    "gates/diagnosis",
    "gates/model/forecast_documents.py",
    "manager/serving",
    "manager/planning",
    "manager/shadow/problems.py",
    "manager/shadow/report.py",
    "manager/journal/timelines.py",
    "manager/cli",
)
"""Where documents are built."""
_SNAKE_CASE = re.compile(r"[a-z0-9]+(_[a-z0-9]+)+")
_OF_LIBRARIES = {"help_option_names"}


def modules() -> list[Path]:
    found = []
    for each in BUILDERS:
        path = ROOT / each
        found += sorted(path.rglob("*.py")) if path.is_dir() else [path]
    return found


def literal_keys(tree: ast.AST) -> set[str]:
    keys = (key for each in ast.walk(tree) if isinstance(each, ast.Dict) for key in each.keys)
    return {key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str)}


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_no_builder_writes_a_key_in_snake_case(path: Path) -> None:
    tree = ast.parse(path.read_text())
    assert {key for key in literal_keys(tree) if _SNAKE_CASE.fullmatch(key)} <= _OF_LIBRARIES
    imported = {alias.name for each in ast.walk(tree) if isinstance(each, ast.ImportFrom) for alias in each.names}
    assert "asdict" not in imported, "names of Python fields are not names of documents"


def objects(path: Path) -> str:
    queue = cluster_queue("A").quota("f", cpu=4).preemption(within="LowerPriority")
    holder = workload("v").queue("A").request(cpu=3).holds("A")
    waiting = workload("p").queue("A").request(cpu=2).priority(10)
    path.write_text(yaml.safe_dump_all(cluster(queue, holder, waiting)))
    return str(path)


def pods(path: Path) -> str:
    path.write_text(yaml.safe_dump_all([node("n1"), pod("a", 4, 1, on="n1", app="x"), pod("p", 2, 10), budget("x")]))
    return str(path)


def configuration(path: Path) -> str:
    path.write_text("apiVersion: config.multikueue-turnstile.dev/v1alpha1\nkind: Configuration\nnosuch: 1\n")
    return str(path)


def journal(path: Path) -> str:
    made = look("a")
    write(path, replace(made, decision=replace(made.decision, rule=Rule.DISPATCHED)))
    return str(path)


def shadow_journal(path: Path) -> str:
    return str(write_episodes(path, episode()))


OFFLINE = {
    "predict": (objects, ("predict", "-f", "{}"), 0),
    "predict-pods": (pods, ("predict-pods", "-f", "{}"), 0),
    "simulate": (objects, ("simulate", "-f", "{}"), 0),
    "config validate": (configuration, ("config", "validate", "{}"), 2),
    "replay": (journal, ("replay", "{}"), 1),
    "timeline": (journal, ("timeline", "ns/a", "--journal", "{}"), 0),
    "timeline --victims": (journal, ("timeline", "--victims", "-A", "--journal", "{}"), 0),
    "shadow report": (shadow_journal, ("shadow", "report", "--journal", "{}"), 0),
}


@pytest.mark.parametrize("command", OFFLINE)
def test_documents_of_commands(command: str, tmp_path: Path) -> None:
    make, arguments, code = OFFLINE[command]
    path = make(tmp_path / "given")
    result = CliRunner().invoke(app, [*(each.format(path) for each in arguments), "-o", "json"])
    assert result.exit_code == code, result.output
    document = json.loads(result.stdout)
    for write_ in (each for step in document.get("cycles", ()) for each in step["writes"]):
        write_.pop("patch")  # the status as Kueue writes it
    assert list(misspelt_keys(document)) == []
    assert document["apiVersion"].startswith("cli.")
    assert document["kind"]


def test_documents_of_explanations() -> None:
    victim = ForecastVictim("ns", "low", "u", "cq", "InClusterQueue", running_since_ns=NOW)
    forecast = Forecast(
        ForecastVerdict.PREEMPTS, NOW, flavors=(("nvidia.com/gpu", "f"),), victims=(victim,), cost=Cost(victims=1)
    )
    evicted = PodVictim("ns", "a", "n1", 3, "gang", NOW - 5 * SECOND, violates_budget=True)
    outlook = PodOutlook(
        PodVerdict.EVICTS, NOW, "1.36", "", 2, (evicted,), (PodOutcome(("ns/a",)),), cost=PodCost(1, 0, 20)
    )
    kept = ForecastRecord(W1, ReplicaUID("u"), NOW, forecast, ForecastResult.WRONG, pods=PodRecord(outlook))
    metadata = {"name": "wl", "namespace": "ns", "uid": "u", "resourceVersion": "1"}
    record = hub_record({"metadata": metadata, "status": {"admissionChecks": [{"name": "mk", "state": "Pending"}]}})
    worker = WorkerExplanation("w1", ReplicaReport(ReplicaState.PENDING), "Closed", forecast, pods=outlook)
    gates = (OpenGateReport(W1, NOW, NOW),)
    explanation = WorkloadExplanation((worker,), NextStep(NextKind.GATE_OPENS, W1, NOW), gates)
    found = explanation_document(replace(record, forecast=kept), record.check(frozenset({"mk"})), explanation)
    assert list(misspelt_keys(found)) == []
    assert list(misspelt_keys(unreadable_document("ns", "wl", "bad"))) == []


def test_the_walk_finds_what_it_looks_for() -> None:
    document = {"good": [{"pod_victims": 1}], "flavors": {"nvidia.com/gpu": ["f"]}, "Bad": {}}
    assert list(misspelt_keys(document)) == [".good[0].pod_victims", ".Bad"]
