"""Prints the Grafana dashboard. One line here is one panel: `make docs` writes turnstile.json from it."""

import json
import re
import sys
from dataclasses import dataclass, field
from itertools import count
from typing import Any

Obj = dict[str, Any]

SOURCE = {"type": "prometheus", "uid": "${datasource}"}
HERE = 'job=~"$job",namespace=~"$namespace"'
THERE = f'{HERE},cluster=~"$cluster"'
QUEUE = f'{HERE},cluster_queue=~"$cluster_queue"'
WINDOW = "[$__rate_interval]"


RUNBOOK = "https://multikueue-turnstile.dev/docs/runbook/"
GREEN, YELLOW, RED = "green", "yellow", "red"

Step = tuple[float | None, str]
GOOD_IF_ONE: tuple[Step, ...] = ((None, RED), (1, GREEN), (2, RED))
BAD_IF_ANY: tuple[Step, ...] = ((None, GREEN), (1, RED))
YES_NO = {"0": "no", "1": "yes"}


def rising(doubtful: float, bad: float) -> tuple[Step, ...]:
    """Return colours for values that should be small."""
    return ((None, GREEN), (doubtful, YELLOW), (bad, RED))


@dataclass(frozen=True)
class Panel:
    """One picture: a title, queries by legend, and how to draw them."""

    title: str
    queries: dict[str, str]
    unit: str = "short"
    kind: str = "timeseries"
    width: int = 8
    about: str = ""
    steps: tuple[Step, ...] = ()
    """The colours of values, from each on; the first has no beginning."""
    words: Obj = field(default_factory=dict)
    """What values are called."""
    alert: str = ""
    """The alert whose section of the runbook the panel links to."""


def rate(metric: str, by: str, where: str = THERE) -> str:
    """Return how often something is counted per second."""
    return f"sum by ({by}) (rate({metric}{{{where}}}{WINDOW}))"


def quantile(part: float, metric: str, by: str, where: str = THERE) -> str:
    """Return a quantile of a histogram."""
    return f"histogram_quantile({part}, sum by ({by}le) (rate({metric}_bucket{{{where}}}{WINDOW})))"


ROWS: dict[str, list[Panel]] = {
    "Overview": [
        Panel(
            "Leaders",
            {"": f"sum(turnstile_leader{{{HERE}}})"},
            kind="stat",
            width=3,
            about="One, always.",
            steps=GOOD_IF_ONE,
            alert="TurnstileNoLeader",
        ),
        Panel(
            "Hub connected",
            {"": f"max(turnstile_hub_connected{{{HERE}}})"},
            kind="stat",
            width=3,
            steps=GOOD_IF_ONE,
            words=YES_NO,
            alert="TurnstileHubUnreadable",
        ),
        Panel(
            "Workers away",
            {"": f"sum(1 - max by (cluster) (turnstile_worker_connected{{{THERE}}}))"},
            kind="stat",
            width=3,
            about="Lost or refused.",
            steps=BAD_IF_ANY,
            alert="TurnstileWorkerLost",
        ),
        Panel(
            "Workers that ignore gates",
            {"": f'sum(max by (worker) (turnstile_worker_gates{{{HERE},state="not_honoured"}}))'},
            kind="stat",
            width=3,
            about="Their Kueue preempts as soon as it has a replica.",
            steps=BAD_IF_ANY,
            alert="TurnstileWorkerIgnoresGates",
        ),
        Panel("Gates open", {"": f"sum(turnstile_gates_open{{{THERE}}})"}, kind="stat", width=2),
        Panel(
            "Invariants violated (24 h)",
            {"": f"sum(increase(turnstile_invariant_violations_total{{{HERE}}}[24h]))"},
            kind="stat",
            width=3,
            steps=BAD_IF_ANY,
            alert="TurnstileInvariantViolated",
        ),
        Panel(
            "First credential ends",
            {"": f"min(turnstile_worker_credential_expires_seconds{{{THERE}}})"},
            "s",
            kind="stat",
            width=4,
            steps=((None, RED), (7 * 86400, YELLOW), (30 * 86400, GREEN)),
            alert="TurnstileWorkerCredentialEnds",
        ),
        Panel(
            "Versions", {"{{version}}": f"count by (version) (turnstile_build_info{{{HERE}}})"}, kind="stat", width=3
        ),
    ],
    "ClusterQueue $cluster_queue": [
        Panel(
            "Waiting",
            {"Workloads": f"sum(turnstile_workloads_waiting{{{QUEUE}}})"},
            width=6,
            about="The hub reserved their quota; no worker has admitted them yet.",
        ),
        Panel(
            "Longest wait",
            {"": f"max(turnstile_workloads_longest_wait_seconds{{{QUEUE}}})"},
            "s",
            width=6,
            steps=rising(3600, 86400),
            alert="TurnstileWorkloadWaitsLong",
        ),
        Panel(
            "Dispatched and admitted",
            {
                "to {{cluster}}": rate("multikueue_workloads_dispatched_total", "cluster", QUEUE),
                "admitted on {{cluster}}": rate("multikueue_workloads_admitted_total", "cluster", QUEUE),
            },
            "ops",
            width=6,
        ),
        Panel(
            "Rejected (1 h)",
            {"": f"sum(increase(turnstile_workloads_rejected_total{{{QUEUE}}}[1h]))"},
            width=6,
            steps=rising(1, 10),
            alert="TurnstileWorkloadsRejected",
        ),
    ],
    "Workloads": [
        Panel("Dispatched", {"{{cluster}}": rate("multikueue_workloads_dispatched_total", "cluster")}, "ops", width=12),
        Panel("Admitted", {"{{cluster}}": rate("multikueue_workloads_admitted_total", "cluster")}, "ops", width=12),
    ],
    "Gates": [
        Panel(
            "Open and asked for",
            {
                "{{cluster}} open": f"sum by (cluster) (turnstile_gates_open{{{THERE}}})",
                "{{cluster}} asked for": f"sum by (cluster) (turnstile_gates_waiting{{{THERE}}})",
            },
        ),
        Panel("Openings by reason", {"{{reason}}": rate("turnstile_gate_openings_total", "reason")}, "ops"),
        Panel(
            "Oldest open gate",
            {"{{cluster}}": f"max by (cluster) (turnstile_gates_oldest_open_seconds{{{THERE}}})"},
            "s",
        ),
        Panel(
            "From signal to opening",
            {
                "median": quantile(0.5, "turnstile_signal_to_open_seconds", ""),
                "p99": quantile(0.99, "turnstile_signal_to_open_seconds", ""),
            },
            "s",
            width=12,
        ),
        Panel(
            "From opening to admission",
            {
                "{{cluster}} median": quantile(0.5, "turnstile_open_to_admission_seconds", "cluster, "),
                "{{cluster}} p99": quantile(0.99, "turnstile_open_to_admission_seconds", "cluster, "),
            },
            "s",
            width=12,
        ),
    ],
    "Forecasts": [
        Panel("By outcome", {"{{result}}": rate("turnstile_forecasts_total", "result")}, "ops"),
        Panel("By verdict", {"{{verdict}}": rate("turnstile_forecast_verdicts_total", "verdict")}, "ops"),
        Panel(
            "Exact",
            {"{{cluster}}": f"max by (cluster) (turnstile_forecast_hit_ratio{{{THERE}}})"},
            "percentunit",
        ),
        Panel(
            "Victims",
            {
                "forecast": f"sum(increase(turnstile_victims_forecast_total{{{THERE}}}[1h]))",
                "observed": f"sum(increase(turnstile_victims_observed_total{{{THERE}}}[1h]))",
            },
            width=12,
            about="In the last hour.",
        ),
        Panel(
            "Available and reliable",
            {
                "{{cluster}} available": f"max by (cluster) (turnstile_forecast_available{{{THERE}}})",
                "{{cluster}} reliable": f"max by (cluster) (turnstile_forecast_reliable{{{THERE}}})",
            },
            width=12,
        ),
    ],
    "Workers": [
        Panel(
            "Status",
            {"{{cluster}} {{status}}": f"max by (cluster, status) (turnstile_worker_status{{{THERE}}}) == 1"},
        ),
        Panel("Out of reach", {"{{cluster}}": f"min by (cluster) (turnstile_worker_lost_seconds{{{THERE}}})"}, "s"),
        Panel(
            "Silence of watches",
            {"{{cluster}}": f"max by (cluster) (turnstile_worker_watch_age_seconds{{{THERE}}})"},
            "s",
        ),
        Panel("Clock skew", {"{{cluster}}": f"avg by (cluster) (turnstile_worker_clock_skew_seconds{{{THERE}}})"}, "s"),
        Panel(
            "Request budget",
            {
                "{{cluster}} left": f"min by (cluster) (turnstile_worker_request_budget{{{THERE}}})",
                "{{cluster}} waiting": f"max by (cluster) (turnstile_worker_requests_waiting{{{THERE}}})",
            },
        ),
        Panel(
            "Failures",
            {
                "{{cluster}} actions": rate("turnstile_worker_action_failures_total", "cluster"),
                "{{cluster}} watches": rate("turnstile_worker_watch_drops_total", "cluster"),
            },
            "ops",
        ),
    ],
    "Daemon": [
        Panel(
            "Reconcile",
            {
                "median": quantile(0.5, "turnstile_reconcile_duration_seconds", "", HERE),
                "p99": quantile(0.99, "turnstile_reconcile_duration_seconds", "", HERE),
            },
            "s",
        ),
        Panel(
            "Reconciles",
            {
                "all": rate("turnstile_reconcile_duration_seconds_count", "job", HERE),
                "failed": rate("turnstile_reconcile_errors_total", "job", HERE),
            },
            "ops",
        ),
        Panel(
            "Queue",
            {
                "waiting": f"max(turnstile_queue_depth{{{HERE}}})",
                "actions on their way": f"max(turnstile_actions_in_flight{{{HERE}}})",
            },
        ),
        Panel("Memory", {"{{instance}}": f"process_resident_memory_bytes{{{HERE}}}"}, "bytes"),
        Panel("CPU", {"{{instance}}": rate("process_cpu_seconds_total", "instance", HERE)}, "percentunit"),
        Panel(
            "Journal and log",
            {
                "entries lost": rate("turnstile_journal_entries_dropped_total", "job", HERE),
                "lines left out": rate("turnstile_log_lines_suppressed_total", "job", HERE),
            },
            "ops",
        ),
    ],
}


def dashboard() -> Obj:
    """Return the whole dashboard in Grafana's model."""
    numbers, panels, top = count(1), [], 0
    for title, row in ROWS.items():
        place = {"h": 1, "w": 24, "x": 0, "y": top}
        line = {"id": next(numbers), "type": "row", "title": title, "gridPos": place, "collapsed": False, "panels": []}
        repeated = re.search(r"\$(\w+)", title)
        panels.append({**line, "repeat": repeated[1]} if repeated else line)
        top, left, height = top + 1, 0, 4 if row[0].kind == "stat" else 8
        for panel in row:
            if left + panel.width > 24:
                top, left = top + height, 0
            place = {"h": height, "w": panel.width, "x": left, "y": top}
            panels.append(drawn(panel, next(numbers), place))
            left += panel.width
        top += height
    return {
        "uid": "turnstile",
        "title": "Turnstile",
        "tags": ["kueue", "multikueue", "turnstile"],
        "schemaVersion": 39,
        "version": 1,
        "editable": True,
        "graphTooltip": 1,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": variables()},
        "annotations": {"list": annotations()},
        "links": links(),
        "panels": panels,
    }


def drawn(panel: Panel, number: int, place: Obj) -> Obj:
    """Return one panel in Grafana's model."""
    targets = [
        {"refId": chr(ord("A") + index), "datasource": SOURCE, "expr": expression, "legendFormat": legend or "__auto"}
        for index, (legend, expression) in enumerate(panel.queries.items())
    ]
    return {
        "id": number,
        "type": panel.kind,
        "title": panel.title,
        "description": panel.about,
        "datasource": SOURCE,
        "gridPos": place,
        "targets": targets,
        "fieldConfig": {"defaults": {"unit": panel.unit, **coloured(panel)}, "overrides": []},
        "options": {"colorMode": "background", "graphMode": "none"} if panel.kind == "stat" and panel.steps else {},
        "links": [linked("What to do", f"{RUNBOOK}#{panel.alert.lower()}")] if panel.alert else [],
    }


def coloured(panel: Panel) -> Obj:
    """Return how values are painted and called."""
    found: Obj = {}
    if panel.steps:
        steps = [{"value": value, "color": colour} for value, colour in panel.steps]
        found |= {"thresholds": {"mode": "absolute", "steps": steps}, "color": {"mode": "thresholds"}}
        if panel.kind == "timeseries":
            found["custom"] = {"thresholdsStyle": {"mode": "dashed"}}
            found["color"] = {"mode": "palette-classic"}
    if panel.words:
        named = {value: {"text": text, "index": index} for index, (value, text) in enumerate(panel.words.items())}
        found["mappings"] = [{"type": "value", "options": named}]
    return found


def linked(title: str, url: str) -> Obj:
    """Return a link that opens a page of its own."""
    return {"title": title, "url": url, "targetBlank": True}


def links() -> list[Obj]:
    """Return the links at the top."""
    pages = {"Runbook": RUNBOOK, "Metrics": RUNBOOK.replace("runbook", "metrics")}
    return [{**linked(title, url), "type": "link", "icon": "doc", "tags": []} for title, url in pages.items()]


def annotations() -> list[Obj]:
    """Return what is marked in every panel: changes of the leader, of the version, and alerts that fire."""
    marked = {
        "Leader changes": (f"sum by (instance) (changes(turnstile_leader{{{HERE}}}[1m])) > 0", "blue"),
        "New versions": (
            f"count by (version) (turnstile_build_info{{{HERE}}}) unless count by (version) "
            f"(turnstile_build_info{{{HERE}}} offset 5m)",
            "purple",
        ),
        "Alerts": ('ALERTS{alertname=~"Turnstile.*",alertstate="firing"}', RED),
    }
    return [
        {
            "name": name,
            "datasource": SOURCE,
            "enable": True,
            "iconColor": colour,
            "expr": expression,
            "titleFormat": f"{name} {{{{alertname}}}}{{{{version}}}}",
            "textFormat": "{{instance}} {{cluster}}",
            "step": "60s",
        }
        for name, (expression, colour) in marked.items()
    ]


def variables() -> list[Obj]:
    """Return what can be chosen at the top: the data source, the installation, workers."""
    chosen: list[Obj] = [{"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Data source"}]
    for name, metric in (
        ("job", "turnstile_leader"),
        ("namespace", "turnstile_leader"),
        ("cluster", "turnstile_worker_connected"),
        ("cluster_queue", "turnstile_workloads_waiting"),
    ):
        chosen.append(
            {
                "name": name,
                "type": "query",
                "datasource": SOURCE,
                "query": {"query": f"label_values({metric}, {name})", "refId": name},
                "refresh": 2,
                "includeAll": True,
                "allValue": ".*",
                "multi": True,
                "sort": 1,
                "current": {"text": "All", "value": "$__all"},
            }
        )
    return chosen


if __name__ == "__main__":
    sys.stdout.write(json.dumps(dashboard(), indent=1) + "\n")
