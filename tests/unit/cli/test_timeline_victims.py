"""`turnstile timeline --victims`: who was preempted for whom, from a journal alone."""

import json
import time
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from config.api.identifiers import ReplicaUID, WorkerName
from config.api.meta import format_time
from engine.forecasting.forecast import Cost, Forecast, ForecastVerdict, ForecastVictim
from engine.forecasting.verification import Evicted, ForecastResult
from gates.model.forecasts import ForecastRecord, Witness
from gates.model.settings import SECOND
from manager.cli.app import app
from manager.reconcile.reconciliation import Reconciliation
from tests.unit.gates.groups import group, hub, replica, worker
from tests.unit.manager.journals import journal as begin
from tests.unit.manager.journals import look, written

NOW_NS = time.time_ns() // SECOND * SECOND
HOUR = 3600 * SECOND
RENDER = Evicted("team", "render", "render-uid", "InClusterQueue")
TESTS = Evicted("team", "tests", "tests-uid", "InCohortReclamation")
OTHER = Evicted("other", "docs", "docs-uid", "InClusterQueue")


def decision(preemptor: str, at_ns: int, *evicted: Evicted, cluster: str = "w1") -> Reconciliation:
    """Return a decision that saw these victims; its forecast named only the first."""
    named = tuple(ForecastVictim(each.namespace, each.name, each.uid, "cq", each.reason) for each in evicted[:1])
    forecast = Forecast(ForecastVerdict.PREEMPTS, at_ns, victims=named, cost=Cost(victims=1))
    record = ForecastRecord(WorkerName(cluster), ReplicaUID(f"{cluster}-uid"), at_ns, forecast, ForecastResult.EXACT)
    workload = replace(hub(name=preemptor, uid=f"{preemptor}-uid"), namespace="team", forecast=record)
    state = group(workload, worker(cluster, replica(cluster), witness=Witness(evicted=evicted)))
    return look(preemptor, now_ns=at_ns, state=state)


LOOKS = (
    decision("old", NOW_NS - 30 * HOUR, Evicted("team", "ancient", "ancient-uid", "InClusterQueue")),
    decision("training", NOW_NS - 2 * HOUR, RENDER, TESTS),
    decision("training", NOW_NS - HOUR, RENDER, TESTS),
    decision("urgent", NOW_NS - HOUR, OTHER, cluster="w2"),
    look("quiet", now_ns=NOW_NS),
)


def keep(path: Path, *looks: Reconciliation) -> None:
    """Write these decisions to a journal that drops none of them for its age."""
    made = begin(path, now_ns=lambda: NOW_NS)
    for each in looks:
        made.note_reconciliation(each)
    written(made)
    made.close()


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    keep(tmp_path / "j.db", *LOOKS)
    return tmp_path / "j.db"


def run(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner(env={"HOME": "/none", "KUBECONFIG": ""}).invoke(app, ["timeline", "--victims", *arguments])
    return result.exit_code, result.stdout, result.stderr


def names(output: str) -> list[tuple[str, str]]:
    return [(each["worker"], f"{each['namespace']}/{each['name']}") for each in json.loads(output)["items"]]


def test_the_victims_of_a_team_are_listed_with_who_preempted_them(journal: Path) -> None:
    code, output, errors = run("-n", "team", "--since", "24h", "--journal", str(journal))
    assert (code, errors) == (0, "")
    at = format_time(NOW_NS - 2 * HOUR)
    assert [line.split() for line in output.splitlines()] == [
        ["TIME", "WORKER", "VICTIM", "PREEMPTOR", "REASON", "FORECAST", "RESULT"],
        [at, "w1", "render", "team/training", "InClusterQueue", "yes", "exact"],
        [at, "w1", "tests", "team/training", "InCohortReclamation", "no", "exact"],
    ]


SELECTIONS = {
    "of all namespaces": (("-A",), [("w1", "team/render"), ("w1", "team/tests"), ("w2", "other/docs")]),
    "where no kubeconfig names a namespace": (
        (),
        [("w1", "team/render"), ("w1", "team/tests"), ("w2", "other/docs")],
    ),
    "one by name": (("team/tests",), [("w1", "team/tests")]),
    "one by name and namespace": (("tests", "-n", "team"), [("w1", "team/tests")]),
    "on one worker": (("-A", "--worker", "w2"), [("w2", "other/docs")]),
    "further back": (
        ("-n", "team", "--since", "48h"),
        [("w1", "team/ancient"), ("w1", "team/render"), ("w1", "team/tests")],
    ),
    "in a time without any": (("-A", "--since", "90s"), []),
}


@pytest.mark.parametrize(("arguments", "want"), SELECTIONS.values(), ids=SELECTIONS)
def test_victims_are_selected(journal: Path, arguments: tuple[str, ...], want: list[tuple[str, str]]) -> None:
    code, output, errors = run(*arguments, "--journal", str(journal), "-o", "json")
    assert (code, errors) == (0, "")
    assert names(output) == want


def test_that_there_is_none_is_said(journal: Path) -> None:
    code, output, errors = run("-n", "nobody", "--journal", str(journal))
    assert (code, output) == (0, "")
    assert errors == "no workload was preempted for a Workload of this hub in that time\n"


BAD = {
    "no duration": (("--victims", "--since", "yesterday"), '--since "yesterday" is not allowed: must be a number and'),
    "a negative time": (("--victims", "--since", "-1h"), '--since "-1h" is not allowed: must be from 1s to 87600h'),
    "a job": (("--victims", "job/x", "-n", "team"), "victims are known by their Workload on the worker"),
    "a bad namespace": (("--victims", "-n", "No"), "No"),
    "since without victims": (("team/x", "--since", "1h"), "--since requires --victims"),
    "a worker without victims": (("team/x", "--worker", "w1"), "--worker requires --victims"),
    "all namespaces without victims": (("team/x", "-A"), "--all-namespaces requires --victims"),
    "nothing": ((), "name a Workload, or list who was preempted with --victims"),
}


@pytest.mark.parametrize(("arguments", "want"), BAD.values(), ids=BAD)
def test_bad_input_is_one_sentence(journal: Path, arguments: tuple[str, ...], want: str) -> None:
    runner = CliRunner(env={"HOME": "/none", "KUBECONFIG": ""})
    result = runner.invoke(app, ["timeline", *arguments, "--journal", str(journal)])
    assert (result.exit_code, result.stdout, len(result.stderr.splitlines())) == (2, "", 1), result.stderr
    assert want in result.stderr


def test_without_a_daemon_and_a_journal_nothing_is_known(tmp_path: Path) -> None:
    code, output, errors = run("-A", "--socket", str(tmp_path / "none"))
    assert (code, output, len(errors.splitlines())) == (3, "", 1)
    assert "--journal FILE reads a journal without a daemon" in errors


def test_a_long_journal_is_read_in_pieces_and_each_victim_is_told_once(tmp_path: Path) -> None:
    first = decision("training", NOW_NS - 3 * HOUR, RENDER)
    quiet = [look(f"quiet-{number}", now_ns=NOW_NS - 2 * HOUR) for number in range(1200)]
    keep(tmp_path / "j.db", first, *quiet, decision("training", NOW_NS - HOUR, RENDER))
    code, output, _ = run("-A", "--journal", str(tmp_path / "j.db"), "-o", "json")
    (found,) = json.loads(output)["items"]
    assert (code, found["time"]) == (0, format_time(NOW_NS - 3 * HOUR))
