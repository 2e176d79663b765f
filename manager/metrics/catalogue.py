"""Every metric of the daemon. Labels have few values: workers, ClusterQueues, and words that the meanings list.

The first two are called and labelled as Kueue's controller calls and labels them, so that dashboards keep working.
"""

from typing import Final

from manager.metrics.families import Family, MetricType

_CLUSTER: Final = ("cluster",)
_KUEUE_LABELS: Final = ("cluster_queue", "cluster", "replica_role")
_GATE_SECONDS: Final = (1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0)
_WORK_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)


def _counter(name: str, meaning: str, labels: tuple[str, ...] = ()) -> Family:
    return Family(name, MetricType.COUNTER, meaning, labels)


def _gauge(name: str, meaning: str, labels: tuple[str, ...] = ()) -> Family:
    return Family(name, MetricType.GAUGE, meaning, labels)


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

REJECTED: Final = _counter(
    "turnstile_workloads_rejected_total",
    "Workloads whose admission check became Rejected, by the hub's ClusterQueue; `turnstile explain` says why.",
    ("cluster_queue",),
)
WAITING: Final = _gauge(
    "turnstile_workloads_waiting",
    "Workloads with quota on the hub that wait for a worker to admit them, by the hub's ClusterQueue.",
    ("cluster_queue",),
)
LONGEST_WAIT: Final = _gauge(
    "turnstile_workloads_longest_wait_seconds",
    "How long the longest of these has waited since the hub reserved its quota.",
    ("cluster_queue",),
)

# --- gates

GATES_OPEN: Final = _gauge(
    "turnstile_gates_open", "Open gates of replicas without quota: these may preempt now.", _CLUSTER
)
GATES_WAITING: Final = _gauge(
    "turnstile_gates_waiting", "Replicas that ask to preempt while their gate is closed.", _CLUSTER
)
WORKER_GATES: Final = _gauge(
    "turnstile_worker_gates",
    "1 for what is known of a worker's Kueue. `state`: honoured, unknown (nothing has shown it yet), not_honoured.",
    ("worker", "state"),
)
WORKER_KUEUE: Final = _gauge(
    "turnstile_worker_kueue_info",
    "Always 1. `version` of a worker's Kueue as far as it is known; `source`: configured, image, labels, schema "
    "(which tells the release and not the patch).",
    ("worker", "version", "source"),
)
OLDEST_OPEN: Final = _gauge(
    "turnstile_gates_oldest_open_seconds",
    "How long the oldest open gate has been open; 0 if none is open.",
    _CLUSTER,
)
OPENINGS: Final = _counter(
    "turnstile_gate_openings_total",
    "Gates opened. `reason`: first (no window had been opened yet), turn_over (another worker's window is over), "
    "reopened (the same worker again, its opening was lost), foreign (opened by another writer).",
    ("cluster", "reason"),
)
SIGNAL_TO_OPEN: Final = Family(
    "turnstile_signal_to_open_seconds",
    MetricType.HISTOGRAM,
    "From a replica's preemption signal, which workers state in whole seconds, to the opening of its gate.",
    _CLUSTER,
    _GATE_SECONDS,
)
OPEN_TO_ADMISSION: Final = Family(
    "turnstile_open_to_admission_seconds",
    MetricType.HISTOGRAM,
    "From the opening of a gate to the admission of its replica, which workers state in whole seconds.",
    _CLUSTER,
    _GATE_SECONDS,
)
VIOLATIONS: Final = _counter(
    "turnstile_invariant_violations_total",
    "Violations of invariants that were observed. `invariant`: one_gate_per_timeout, one_running_copy, "
    "closed_gate_holds (a worker's Kueue preempted for a replica whose gate was closed).",
    ("invariant",),
)

# --- forecasts

VERDICTS: Final = _counter(
    "turnstile_forecast_verdicts_total",
    "Forecasts on which a gate was opened, by verdict: Fits, Preempts, Cannot, Unsupported, Ambiguous.",
    ("cluster", "verdict"),
)
FORECASTS: Final = _counter(
    "turnstile_forecasts_total",
    "Forecasts by outcome: exact, subset, superset, wrong, overtaken, timeout, none (nothing had been forecast).",
    ("cluster", "result"),
)
POD_FORECASTS: Final = _counter(
    "turnstile_pod_forecasts_total",
    "Forecasts of what happens to pods once quota is reserved, by outcome, like turnstile_forecasts_total.",
    ("cluster", "result"),
)
VICTIMS_FORECAST: Final = _counter(
    "turnstile_victims_forecast_total", "Preemptions predicted by the forecasts that have an outcome.", _CLUSTER
)
VICTIMS_OBSERVED: Final = _counter(
    "turnstile_victims_observed_total", "Preemptions observed when forecasts got their outcome.", _CLUSTER
)
FORECAST_AVAILABLE: Final = _gauge(
    "turnstile_forecast_available", "1 while everything that forecasts need is known about a worker.", _CLUSTER
)
FORECAST_RELIABLE: Final = _gauge(
    "turnstile_forecast_reliable", "1 while a worker's forecasts have been right often enough to be used.", _CLUSTER
)
FORECAST_HITS: Final = _gauge(
    "turnstile_forecast_hit_ratio",
    "Share of a worker's most recently counted forecasts that were exact, 0 to 1; absent until one is counted.",
    _CLUSTER,
)

# --- workers and the hub

HUB_CONNECTED: Final = _gauge("turnstile_hub_connected", "1 while the hub's caches are complete and watched.")
HUB_HISTORIES: Final = _counter(
    "turnstile_hub_histories_total",
    "Times that a kind of object on the hub went back to an earlier state: the hub was restored.",
)
WORKER_CONNECTED: Final = _gauge(
    "turnstile_worker_connected", "1 while a worker's caches are complete and watched.", _CLUSTER
)
WORKER_STATUS: Final = _gauge(
    "turnstile_worker_status",
    "1 for the worker's current status: Connecting, Connected, Lost, or Refused (its kubeconfig cannot be used).",
    ("cluster", "status"),
)
WORKER_LOST: Final = _gauge(
    "turnstile_worker_lost_seconds", "How long a worker has been unreachable; 0 while it is reachable.", _CLUSTER
)
WORKER_CORDONED: Final = _gauge(
    "turnstile_worker_cordoned", "1 while a worker is cordoned, so that nothing new is sent there.", _CLUSTER
)
WATCH_AGE: Final = _gauge(
    "turnstile_worker_watch_age_seconds",
    "Time since the last event on the watch of a worker's Workloads; bookmarks count.",
    _CLUSTER,
)
WATCH_DROPS: Final = _counter(
    "turnstile_worker_watch_drops_total", "Broken watches of a worker, over all kinds.", _CLUSTER
)
WORKER_HISTORIES: Final = _counter(
    "turnstile_worker_histories_total",
    "Times that a kind of object on a worker went back to an earlier state: the worker was restored.",
    _CLUSTER,
)
WORKER_RESTARTS: Final = _counter(
    "turnstile_worker_restarts_total",
    "Times that watching a worker, or forecasting for it, failed on something it sent and was restarted.",
    _CLUSTER,
)
CLOCK_SKEW: Final = _gauge(
    "turnstile_worker_clock_skew_seconds", "How far a worker's clock is ahead of this machine's.", _CLUSTER
)
CREDENTIAL_ENDS: Final = _gauge(
    "turnstile_worker_credential_expires_seconds",
    "Seconds until the token or client certificate for a worker expires; negative afterwards. "
    "Absent if it does not state its expiry, or is a file that is renewed.",
    _CLUSTER,
)
BUDGET_LEFT: Final = _gauge(
    "turnstile_worker_request_budget",
    "Requests that could be sent to a worker at once now; negative when urgent requests overdrew the budget.",
    _CLUSTER,
)
BUDGET_BURST: Final = _gauge("turnstile_worker_request_budget_burst", "Upper limit of that budget.", _CLUSTER)
REQUESTS_WAITING: Final = _gauge(
    "turnstile_worker_requests_waiting", "Requests to a worker that wait for the budget.", _CLUSTER
)
REQUEST_RETRIES: Final = _counter(
    "turnstile_worker_request_retries_total",
    "Requests to a worker that were retried after a failure, at most three times each, including those for forecasts.",
    _CLUSTER,
)
ACTION_FAILURES: Final = _counter(
    "turnstile_worker_action_failures_total", "Actions on a worker that failed, except conflicts.", _CLUSTER
)

# --- the daemon

LEADER: Final = _gauge("turnstile_leader", "1 while this instance may act, 0 while it is on standby.")
QUEUE_DEPTH: Final = _gauge("turnstile_queue_depth", "Workloads that wait to be reconciled.")
IN_FLIGHT: Final = _gauge("turnstile_actions_in_flight", "Actions on workers that are in progress.")
RECONCILE_SECONDS: Final = Family(
    "turnstile_reconcile_duration_seconds",
    MetricType.HISTOGRAM,
    "How long a reconcile of a Workload took, including hub writes and up to a second of waiting for workers.",
    (),
    _WORK_SECONDS,
)
RECONCILE_ERRORS: Final = _counter(
    "turnstile_reconcile_errors_total", "Reconciles of a Workload that failed, including conflicts: each is retried."
)
DECISION_LOOPS: Final = _counter(
    "turnstile_decision_loops_total",
    "Times that a Workload was paused because more decisions were made about it than events "
    "explain. Always a bug in Turnstile.",
)
CONTENDED: Final = _counter(
    "turnstile_contended_decisions_total",
    "Decisions that were delayed for seconds because a Workload had been acted on more than a hundred times in quick "
    "succession: usually another controller reverts what Turnstile writes.",
)
RETRIES: Final = _counter(
    "turnstile_retries_total",
    "Retries: the operation failed, was superseded, had nothing to do yet, or ended early. "
    "`operation`: request, watch, workload (its reconcile), action (on a worker), condition, cost, election, "
    "lost_workers, worker_clusters, worker_identity, worker_permissions, hub_permissions, version, journal.",
    ("operation",),
)
BUILD_INFO: Final = _gauge(
    "turnstile_build_info", "Always 1; the labels describe the running build.", ("version", "python")
)
RELOADS: Final = _counter(
    "turnstile_config_reloads_total", "Reloads of the configuration. `result`: success, failure.", ("result",)
)
RELOAD_SUCCESSFUL: Final = _gauge(
    "turnstile_config_last_reload_successful", "1 if the last configuration that was read is in effect."
)
RELOAD_TIME: Final = _gauge(
    "turnstile_config_last_reload_success_timestamp_seconds", "When the configuration in effect was read."
)
JOURNAL_DROPPED: Final = _counter("turnstile_journal_entries_dropped_total", "Entries that the journal lost.")
JOURNAL_DEGRADED: Final = _gauge("turnstile_journal_degraded", "1 while the journal's file cannot be written.")
JOURNAL_WAITING: Final = _gauge(
    "turnstile_journal_entries_waiting", "Entries waiting to be written to the journal's file."
)
LOOP_HOLD: Final = Family(
    "turnstile_event_loop_hold_seconds",
    MetricType.HISTOGRAM,
    "For how long the event loop was held by one step, looked at 20 times a second; meanwhile nothing else happens.",
    buckets=(0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0),
)
LINES_SUPPRESSED: Final = _counter(
    "turnstile_log_lines_suppressed_total", "Log lines omitted because they repeat one just written."
)

CATALOGUE: Final = tuple(found for found in list(globals().values()) if isinstance(found, Family))
"""All of them, in the order above."""
