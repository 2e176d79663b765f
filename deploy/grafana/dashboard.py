"""Prints the Grafana dashboard. One line here is one panel: `make docs` writes turnstile.json from it."""

import json
import sys
from dataclasses import dataclass, field
from itertools import count
from typing import Any

Obj = dict[str, Any]

SOURCE = {"type": "prometheus", "uid": "${datasource}"}
HERE = 'job=~"$job",namespace=~"$namespace"'
THERE = f'{HERE},cluster=~"$cluster"'
WINDOW = "[$__rate_interval]"


@dataclass(frozen=True)
class Panel:
    """One picture: a title, queries by legend, and how to draw them."""

    title: str
    queries: dict[str, str]
    unit: str = "short"
    kind: str = "timeseries"
    width: int = 8
    about: str = ""
    options: Obj = field(default_factory=dict)


def rate(metric: str, by: str, where: str = THERE) -> str:
    """Return how often something is counted per second."""
    return f"sum by ({by}) (rate({metric}{{{where}}}{WINDOW}))"


def quantile(part: float, metric: str, by: str, where: str = THERE) -> str:
    """Return a quantile of a histogram."""
    return f"histogram_quantile({part}, sum by ({by}le) (rate({metric}_bucket{{{where}}}{WINDOW})))"


ROWS: dict[str, list[Panel]] = {
    "Overview": [
        Panel("Leaders", {"": f"sum(turnstile_leader{{{HERE}}})"}, kind="stat", width=4, about="One, always."),
        Panel("Hub", {"": f"max(turnstile_hub_connected{{{HERE}}})"}, kind="stat", width=4),
        Panel(
            "Workers connected",
            {"": f"sum(max by (cluster) (turnstile_worker_connected{{{THERE}}}))"},
            kind="stat",
            width=4,
        ),
        Panel("Gates open", {"": f"sum(turnstile_gates_open{{{THERE}}})"}, kind="stat", width=4),
        Panel(
            "Invariants violated (24 h)",
            {"": f"sum(increase(turnstile_invariant_violations_total{{{HERE}}}[24h]))"},
            kind="stat",
            width=4,
        ),
        Panel(
            "Versions", {"{{version}}": f"count by (version) (turnstile_build_info{{{HERE}}})"}, kind="stat", width=4
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
            "Looks",
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
        panels.append(
            {"id": next(numbers), "type": "row", "title": title, "gridPos": place, "collapsed": False, "panels": []}
        )
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
        "annotations": {"list": []},
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
        "fieldConfig": {"defaults": {"unit": panel.unit}, "overrides": []},
        "options": panel.options,
    }


def variables() -> list[Obj]:
    """Return what can be chosen at the top: the data source, the installation, workers."""
    chosen: list[Obj] = [{"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Data source"}]
    for name, metric in (
        ("job", "turnstile_leader"),
        ("namespace", "turnstile_leader"),
        ("cluster", "turnstile_worker_connected"),
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
