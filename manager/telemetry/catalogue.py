"""Every metric of the daemon. Labels have few values: workers, ClusterQueues, and words that the meanings list.

The first two are called and labelled as Kueue's controller calls and labels them, so that dashboards keep working.
"""

from typing import Final

from manager.telemetry.families import Family, Kind

_CLUSTER: Final = ("cluster",)
_KUEUE_LABELS: Final = ("cluster_queue", "cluster", "replica_role")
_GATE_SECONDS: Final = (1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0)
_WORK_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)


def _counter(name: str, meaning: str, labels: tuple[str, ...] = ()) -> Family:
    return Family(name, Kind.COUNTER, meaning, labels)


def _gauge(name: str, meaning: str, labels: tuple[str, ...] = ()) -> Family:
    return Family(name, Kind.GAUGE, meaning, labels)


# --- Workloads

DISPATCHED: Final = _counter(
    "multikueue_workloads_dispatched_total",
    "Replicas created, by the hub's ClusterQueue and by worker.",
    _KUEUE_LABELS,
)
ADMITTED: Final = _counter(
    "multikueue_workloads_admitted_total",
    "Workloads whose admission check became Ready, by the hub's ClusterQueue and by worker.",
    _KUEUE_LABELS,
)

# --- gates

GATES_OPEN: Final = _gauge(
    "turnstile_gates_open", "Open gates of replicas that have no quota yet: who may preempt now.", _CLUSTER
)
GATES_WAITING: Final = _gauge(
    "turnstile_gates_waiting", "Replicas that ask to preempt and whose gate is closed.", _CLUSTER
)
OLDEST_OPEN: Final = _gauge(
    "turnstile_gates_oldest_open_seconds",
    "For how long the gate that was opened first stands open; 0 if none does.",
    _CLUSTER,
)
OPENINGS: Final = _counter(
    "turnstile_gate_openings_total",
    "Gates opened. `reason`: first (nobody had a turn yet), turn_over (the turn of another worker is over), "
    "reopened (the same worker's once more, its opening was lost), foreign (somebody else opened it).",
    ("cluster", "reason"),
)
SIGNAL_TO_OPEN: Final = Family(
    "turnstile_signal_to_open_seconds",
    Kind.HISTOGRAM,
    "From a replica's wish to preempt, which workers state in whole seconds, to the opening of its gate.",
    _CLUSTER,
    _GATE_SECONDS,
)
OPEN_TO_ADMISSION: Final = Family(
    "turnstile_open_to_admission_seconds",
    Kind.HISTOGRAM,
    "From the opening of a gate to the admission of its replica, which workers state in whole seconds.",
    _CLUSTER,
    _GATE_SECONDS,
)
VIOLATIONS: Final = _counter(
    "turnstile_invariant_violations_total",
    "What must never be and was seen. `invariant`: one_gate_per_timeout, one_running_copy.",
    ("invariant",),
)

# --- forecasts

VERDICTS: Final = _counter(
    "turnstile_forecast_verdicts_total",
    "Forecasts that a gate was opened on, by what they said: Fits, Preempts, Cannot, Unsupported, Ambiguous.",
    ("cluster", "verdict"),
)
FORECASTS: Final = _counter(
    "turnstile_forecasts_total",
    "Forecasts by outcome: exact, subset, superset, wrong, overtaken, timeout, none (nothing had been promised).",
    ("cluster", "result"),
)
POD_FORECASTS: Final = _counter(
    "turnstile_pod_forecasts_total",
    "Forecasts of what becomes of pods after the quota, by outcome, as turnstile_forecasts_total.",
    ("cluster", "result"),
)
VICTIMS_FORECAST: Final = _counter(
    "turnstile_victims_forecast_total", "Preemptions that the forecasts with an outcome had said.", _CLUSTER
)
VICTIMS_OBSERVED: Final = _counter(
    "turnstile_victims_observed_total", "Preemptions that were seen when forecasts got their outcome.", _CLUSTER
)
FORECAST_AVAILABLE: Final = _gauge(
    "turnstile_forecast_available", "1 while everything is known about a worker that forecasts need.", _CLUSTER
)
FORECAST_RELIABLE: Final = _gauge(
    "turnstile_forecast_reliable", "1 while a worker's forecasts were right often enough to be used.", _CLUSTER
)
FORECAST_HITS: Final = _gauge(
    "turnstile_forecast_hit_ratio",
    "The part of a worker's last counted forecasts that was exact, 0 to 1; absent while none was counted.",
    _CLUSTER,
)

# --- workers and the hub

HUB_CONNECTED: Final = _gauge("turnstile_hub_connected", "1 while the hub's caches are complete and followed.")
WORKER_CONNECTED: Final = _gauge(
    "turnstile_worker_connected", "1 while a worker's caches are complete and followed.", _CLUSTER
)
WORKER_STATUS: Final = _gauge(
    "turnstile_worker_status",
    "1 for the status that a worker has: Connecting, Connected, Lost, or Refused (its kubeconfig cannot be used).",
    ("cluster", "status"),
)
WORKER_LOST: Final = _gauge(
    "turnstile_worker_lost_seconds", "For how long a worker has been out of reach; 0 while it is not.", _CLUSTER
)
WATCH_AGE: Final = _gauge(
    "turnstile_worker_watch_age_seconds",
    "Since when nothing was heard on the watch of a worker's Workloads; bookmarks count.",
    _CLUSTER,
)
WATCH_DROPS: Final = _counter(
    "turnstile_worker_watch_drops_total", "Watches of a worker that broke, over all kinds.", _CLUSTER
)
CLOCK_SKEW: Final = _gauge(
    "turnstile_worker_clock_skew_seconds", "How far a worker's clock runs ahead of ours.", _CLUSTER
)
BUDGET_LEFT: Final = _gauge(
    "turnstile_worker_request_budget",
    "Requests to a worker that could be sent at once now; below 0 when urgent ones passed the others.",
    _CLUSTER,
)
BUDGET_BURST: Final = _gauge("turnstile_worker_request_budget_burst", "The most that budget can be.", _CLUSTER)
REQUESTS_WAITING: Final = _gauge(
    "turnstile_worker_requests_waiting", "Requests to a worker that stand in line for the budget.", _CLUSTER
)
ACTION_FAILURES: Final = _counter(
    "turnstile_worker_action_failures_total", "Actions on a worker that failed, conflicts aside.", _CLUSTER
)

# --- the daemon

LEADER: Final = _gauge("turnstile_leader", "1 while this instance may act, 0 while it stands by.")
QUEUE_DEPTH: Final = _gauge("turnstile_queue_depth", "Workloads that wait for a look.")
IN_FLIGHT: Final = _gauge("turnstile_actions_in_flight", "Actions on workers that are on their way.")
RECONCILE_SECONDS: Final = Family(
    "turnstile_reconcile_duration_seconds",
    Kind.HISTOGRAM,
    "How long a look at a Workload took, hub writes and up to a second of patience with workers included.",
    (),
    _WORK_SECONDS,
)
RECONCILE_ERRORS: Final = _counter(
    "turnstile_reconcile_errors_total", "Looks at a Workload that failed, conflicts included: it is looked at again."
)
BUILD_INFO: Final = _gauge("turnstile_build_info", "Always 1; the labels say what runs.", ("version", "python"))
RELOADS: Final = _counter(
    "turnstile_config_reloads_total", "Reloads of the configuration. `result`: success, failure.", ("result",)
)
RELOAD_SUCCESSFUL: Final = _gauge(
    "turnstile_config_last_reload_successful", "1 if the configuration that was read last is in force."
)
RELOAD_TIME: Final = _gauge(
    "turnstile_config_last_reload_success_timestamp_seconds", "When the configuration in force was read."
)
JOURNAL_DROPPED: Final = _counter("turnstile_journal_entries_dropped_total", "Entries that the journal lost.")
JOURNAL_DEGRADED: Final = _gauge("turnstile_journal_degraded", "1 while the journal's file cannot be written.")
JOURNAL_WAITING: Final = _gauge("turnstile_journal_entries_waiting", "Entries on their way to the journal's file.")
LINES_SUPPRESSED: Final = _counter(
    "turnstile_log_lines_suppressed_total", "Log lines left out because they repeated one that was just written."
)

CATALOGUE: Final = tuple(found for found in list(globals().values()) if isinstance(found, Family))
"""All of them, in the order above."""
