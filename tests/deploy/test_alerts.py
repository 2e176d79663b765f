"""The alerts: Prometheus takes them, each fires on its condition and on nothing else, and each has its runbook."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
RULES = ROOT / "deploy" / "prometheus" / "rules.yaml"
RUNBOOK = (ROOT / "docs" / "runbook.md").read_text()
GROUPS = yaml.safe_load(RULES.read_text())["groups"]
ALERTS: dict[str, dict[str, Any]] = {rule["alert"]: rule for group in GROUPS for rule in group["rules"]}
LAST_MINUTE = 120

HEALTHY: dict[str, str] = {
    "turnstile_build_info{version='1'}": "1",
    "turnstile_leader": "1",
    "turnstile_hub_connected": "1",
    "turnstile_config_last_reload_successful": "1",
    "turnstile_journal_degraded": "0",
    "turnstile_journal_entries_dropped_total": "3",
    "turnstile_invariant_violations_total{invariant='one_running_copy'}": "0",
    "turnstile_decision_loops_total": "2",
    "turnstile_contended_decisions_total": "0+1",
    "turnstile_reconcile_errors_total": "0+1",
    "turnstile_reconcile_duration_seconds_count": "0+100",
    "turnstile_reconcile_duration_seconds_bucket{le='0.1'}": "0+100",
    "turnstile_reconcile_duration_seconds_bucket{le='5'}": "0+100",
    "turnstile_reconcile_duration_seconds_bucket{le='+Inf'}": "0+100",
    "turnstile_queue_depth": "4",
    "turnstile_worker_action_failures_total{cluster='w1'}": "7",
    "turnstile_gates_waiting{cluster='w1'}": "1",
    "turnstile_gate_openings_total{cluster='w1',reason='first'}": "0+1",
    "turnstile_gates_oldest_open_seconds{cluster='w1'}": "60",
    "turnstile_worker_connected{cluster='w1'}": "1",
    "turnstile_worker_gates{worker='w1',state='honoured'}": "1",
    "turnstile_worker_gates{worker='w1',state='not_honoured'}": "0",
    "turnstile_worker_restarts_total{cluster='w1'}": "2",
    "turnstile_worker_watch_age_seconds{cluster='w1'}": "30",
    "turnstile_worker_clock_skew_seconds{cluster='w1'}": "-2",
    "turnstile_worker_credential_expires_seconds{cluster='w1'}": "31536000",
    "turnstile_worker_requests_waiting{cluster='w1'}": "0",
    "turnstile_event_loop_hold_seconds_count": "0+1200",
    "turnstile_event_loop_hold_seconds_bucket{le='0.2'}": "0+1200",
    "turnstile_workloads_waiting{cluster_queue='cq'}": "3",
    "turnstile_workloads_longest_wait_seconds{cluster_queue='cq'}": "7200",
    "turnstile_workloads_rejected_total{cluster_queue='cq'}": "2",
    "turnstile_forecast_reliable{cluster='w1'}": "1",
    "turnstile_forecast_available{cluster='w1'}": "1",
}
"""What an instance shows, and how it goes on minute by minute."""

FIRING: dict[str, dict[str, str]] = {
    "TurnstileDown": {"turnstile_build_info{version='1'}": ""},
    "TurnstileNoLeader": {"turnstile_leader": "0"},
    "TurnstileTwoLeaders": {"turnstile_leader{instance='b'}": "1"},
    "TurnstileLeaderFlapping": {"turnstile_leader": "changing"},
    "TurnstileHubUnreadable": {"turnstile_hub_connected": "0"},
    "TurnstileConfigReloadFailed": {"turnstile_config_last_reload_successful": "0"},
    "TurnstileJournalDegraded": {"turnstile_journal_degraded": "1"},
    "TurnstileInvariantViolated": {"turnstile_invariant_violations_total{invariant='one_running_copy'}": "late"},
    "TurnstileDecisionLoop": {"turnstile_decision_loops_total": "0+1"},
    "TurnstileContended": {"turnstile_contended_decisions_total": "0+12"},
    "TurnstileReconcileErrors": {"turnstile_reconcile_errors_total": "0+30"},
    "TurnstileReconcileSlow": {"turnstile_reconcile_duration_seconds_bucket{le='0.1'}": "0+90"},
    "TurnstileLoopHeld": {"turnstile_event_loop_hold_seconds_bucket{le='0.2'}": "0+1195"},
    "TurnstileQueueBacklog": {"turnstile_queue_depth": "1500"},
    "TurnstileActionsFailing": {"turnstile_worker_action_failures_total{cluster='w1'}": "0+1"},
    "TurnstileGatesStuck": {"turnstile_gate_openings_total{cluster='w1',reason='first'}": "5"},
    "TurnstileGateOpenTooLong": {"turnstile_gates_oldest_open_seconds{cluster='w1'}": "4000"},
    "TurnstileWorkerIgnoresGates": {"turnstile_worker_gates{worker='w1',state='not_honoured'}": "1"},
    "TurnstileWorkloadWaitsLong": {"turnstile_workloads_longest_wait_seconds{cluster_queue='cq'}": "90000"},
    "TurnstileWorkloadsRejected": {"turnstile_workloads_rejected_total{cluster_queue='cq'}": "late"},
    "TurnstileAllWorkersLost": {
        "turnstile_worker_connected{cluster='w1'}": "shortly",
        "turnstile_worker_connected{cluster='w2'}": "shortly",
    },
    "TurnstileWorkerLost": {
        "turnstile_worker_connected{cluster='w1'}": "0",
        "turnstile_worker_connected{cluster='w2'}": "1",
    },
    "TurnstileWorkerFailing": {"turnstile_worker_restarts_total{cluster='w1'}": "late"},
    "TurnstileWorkerWatchSilent": {"turnstile_worker_watch_age_seconds{cluster='w1'}": "400"},
    "TurnstileWorkerClockSkew": {"turnstile_worker_clock_skew_seconds{cluster='w1'}": "-31"},
    "TurnstileWorkerCredentialEnds": {"turnstile_worker_credential_expires_seconds{cluster='w1'}": "1209000"},
    "TurnstileWorkerBudgetExhausted": {"turnstile_worker_requests_waiting{cluster='w1'}": "2"},
    "TurnstileForecastsUnreliable": {"turnstile_forecast_reliable{cluster='w1'}": "0"},
    "TurnstileForecastsMissing": {"turnstile_forecast_available{cluster='w1'}": "0"},
}

ALSO_FIRING: dict[str, tuple[str, dict[str, str]]] = {
    "the journal loses entries while its file can be written": (
        "TurnstileJournalDegraded",
        {"turnstile_journal_entries_dropped_total": "0+1"},
    ),
}
"""The other half of conditions that have two."""

QUIET: dict[str, dict[str, str]] = {
    "all is well": {},
    "one of two instances is gone": {"turnstile_leader{instance='b'}": "gone", "turnstile_leader": "1"},
    "one of two instances is on standby": {"turnstile_leader{instance='b'}": "0"},
    "one of two instances does not reach the hub": {"turnstile_hub_connected{instance='b'}": "0"},
    "one of two instances does not reach a worker": {"turnstile_worker_connected{cluster='w1',instance='b'}": "0"},
    "the leader changed once": {"turnstile_leader": "restarted"},
    "a Workload was rejected long ago, and others wait for hours": {
        "turnstile_workloads_rejected_total{cluster_queue='cq'}": "9",
        "turnstile_workloads_longest_wait_seconds{cluster_queue='cq'}": "80000",
    },
    "a worker is lost, and with it its watch and its forecasts": {
        "turnstile_worker_connected{cluster='w1'}": "just now",
        "turnstile_worker_connected{cluster='w2'}": "1",
        "turnstile_worker_watch_age_seconds{cluster='w1'}": "400",
        "turnstile_forecast_available{cluster='w1'}": "0",
    },
    "an invariant was violated long ago": {"turnstile_invariant_violations_total{invariant='one_running_copy'}": "2"},
    "the journal lost entries long ago": {"turnstile_journal_entries_dropped_total": "70"},
    "some looks fail": {"turnstile_reconcile_errors_total": "0+19"},
    "no worker asks to preempt": {
        "turnstile_gates_waiting{cluster='w1'}": "0",
        "turnstile_gate_openings_total{cluster='w1',reason='first'}": "5",
    },
    "nothing has shown yet whether a worker honours gates": {
        "turnstile_worker_gates{worker='w1',state='honoured'}": "0",
        "turnstile_worker_gates{worker='w1',state='unknown'}": "1",
    },
    "a clock is a little off": {"turnstile_worker_clock_skew_seconds{cluster='w1'}": "30"},
    "requests are queued now and then": {"turnstile_worker_requests_waiting{cluster='w1'}": "changing"},
    "another Turnstile with a leader of its own": {"turnstile_leader{namespace='other'}": "1"},
}

SPELLED = {
    "changing": " ".join("01" * (LAST_MINUTE // 2)),
    "late": f"0x{LAST_MINUTE - 30} 1x29",
    "gone": f"0x30 stale{' _' * (LAST_MINUTE - 32)}",
    "restarted": f"1x{LAST_MINUTE - 20} 0x2 1x16",
    "just now": f"1x{LAST_MINUTE - 3} 0x2",
    "shortly": f"1x{LAST_MINUTE - 6} 0x6",
}


def series(values: dict[str, str]) -> list[dict[str, str]]:
    """Return the series in promtool's spelling, with the labels that a scrape adds."""
    found = []
    for name, value in values.items():
        metric, _, given = name.partition("{")
        labels = {"job": "turnstile", "namespace": "system", "instance": "a"}
        labels |= dict(re.findall(r"(\w+)='([^']*)'", given))
        text = ",".join(f'{key}="{each}"' for key, each in labels.items())
        if value:
            found.append({"series": f"{metric}{{{text}}}", "values": SPELLED.get(value, f"{value}x{LAST_MINUTE}")})
    return found


def case(values: dict[str, str], firing: list[str]) -> dict[str, Any]:
    """Return a test in which exactly these alerts fire in the end."""
    expected = [{"labels": f'{{alertname="{name}"}}', "value": 1} for name in firing]
    question = 'count by (alertname) (ALERTS{alertstate="firing"})'
    return {
        "interval": "1m",
        "input_series": series({**HEALTHY, **values}),
        "promql_expr_test": [{"expr": question, "eval_time": f"{LAST_MINUTE - 2}m", "exp_samples": expected}],
    }


def verdict(promtool: Path, directory: Path, made: dict[str, Any]) -> str:
    """Return what promtool has against a test; empty if it passes."""
    file = directory / "test.yaml"
    file.write_text(yaml.safe_dump({"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": [made]}))
    done = subprocess.run([promtool, "test", "rules", file], capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def test_prometheus_takes_the_rules(promtool: Path) -> None:
    command = [str(promtool), "check", "rules", "--lint=all", "--lint-fatal", str(RULES)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_prometheus_takes_what_the_dashboard_asks(promtool: Path, tmp_path: Path) -> None:
    panels = json.loads((ROOT / "deploy" / "grafana" / "turnstile.json").read_text())["panels"]
    asked = [target["expr"] for panel in panels for target in panel.get("targets", ())]
    rules = [
        {"record": f"panel:{index}", "expr": expression.replace("$__rate_interval", "5m")}
        for index, expression in enumerate(asked)
    ]
    (tmp_path / "panels.yaml").write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    command = [str(promtool), "check", "rules", "--lint=none", str(tmp_path / "panels.yaml")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(asked)} rules found" in done.stdout + done.stderr


@pytest.mark.parametrize("name", FIRING)
def test_an_alert_fires_alone_on_its_condition(promtool: Path, tmp_path: Path, name: str) -> None:
    assert verdict(promtool, tmp_path, case(FIRING[name], [name])) == ""


@pytest.mark.parametrize("situation", ALSO_FIRING)
def test_an_alert_fires_on_the_other_half_of_its_condition(promtool: Path, tmp_path: Path, situation: str) -> None:
    name, values = ALSO_FIRING[situation]
    assert verdict(promtool, tmp_path, case(values, [name])) == ""


@pytest.mark.parametrize("name", QUIET)
def test_no_alert_fires(promtool: Path, tmp_path: Path, name: str) -> None:
    assert verdict(promtool, tmp_path, case(QUIET[name], [])) == ""


def test_a_wrong_expectation_is_found_out(promtool: Path, tmp_path: Path) -> None:
    assert "TurnstileDown" in verdict(promtool, tmp_path, case({}, ["TurnstileDown"]))


def test_every_alert_is_tried() -> None:
    assert set(FIRING) == set(ALERTS)


@pytest.mark.parametrize("name", ALERTS)
def test_an_alert_says_how_bad_it_is_and_where_to_read_on(name: str) -> None:
    rule = ALERTS[name]
    assert rule["labels"]["severity"] in ("critical", "warning", "info")
    assert rule["annotations"]["summary"].endswith(".")
    page, _, anchor = rule["annotations"]["runbook_url"].partition("#")
    assert page == "https://multikueue-turnstile.dev/docs/runbook/", "where `make site` publishes docs/runbook.md"
    assert anchor in anchors()


def test_every_section_about_an_alert_has_one() -> None:
    told = re.findall(r"^### (Turnstile\w+)$", RUNBOOK, re.MULTILINE)
    assert sorted(told) == sorted(ALERTS)


@pytest.mark.parametrize("name", ALERTS)
def test_a_section_tells_meaning_impact_diagnosis_and_remedy(name: str) -> None:
    section = RUNBOOK.partition(f"### {name}\n")[2].partition("\n### ")[0]
    missing = [word for word in ("**Meaning.**", "**Impact.**", "**See.**", "**Remedy.**") if word not in section]
    assert missing == []


def anchors() -> set[str]:
    """Return the anchors that a renderer of markdown makes of the headings."""
    headings = re.findall(r"^#+ (.*)$", RUNBOOK, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings}
