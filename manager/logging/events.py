"""Every event that is logged: its level, when it is written, and its fields.

docs/logging.md is generated from this catalogue. Calls name their events as plain strings, so that a search finds
them; a test compares the two. Fields that any line may have (`timestamp`, `cause`, `repeated`) are not listed.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class LogEvent:
    """One kind of log line."""

    name: str
    level: str
    meaning: str
    fields: tuple[str, ...]


def _debug(name: str, fields: str, meaning: str) -> LogEvent:
    return LogEvent(name, "debug", meaning, tuple(fields.split()))


def _info(name: str, fields: str, meaning: str) -> LogEvent:
    return LogEvent(name, "info", meaning, tuple(fields.split()))


def _warning(name: str, fields: str, meaning: str) -> LogEvent:
    return LogEvent(name, "warning", meaning, tuple(fields.split()))


def _error(name: str, fields: str, meaning: str) -> LogEvent:
    return LogEvent(name, "error", meaning, tuple(fields.split()))


_LATER: Final = "It is retried after `retry_seconds`; other clusters are not affected."

EVENTS: Final[dict[str, tuple[LogEvent, ...]]] = {
    "The process": (
        _info("daemon.started", "origin http", "The daemon is configured and listens."),
        _info("daemon.stopped", "", "The daemon has shut down."),
        _error("daemon.failed", "error", "The daemon cannot start or go on, and exits; the last line of a JSON log."),
        _warning("daemon.undrained", "actions", "Shutdown timed out with this many actions still in flight."),
        _info("configuration.reloaded", "changed", "SIGHUP: these settings changed and are in effect."),
        _warning("configuration.waiting", "message fields", "SIGHUP: these changes take effect after a restart."),
        _warning("configuration.caution", "caution", "SIGHUP: the configuration is valid but looks wrong."),
        _error(
            "configuration.refused", "problem message", "SIGHUP: the configuration is invalid; the previous one stays."
        ),
        _debug(
            "operation.retried",
            "operation subject failures retry_seconds error",
            "An operation failed and is tried again after `retry_seconds`.",
        ),
        _warning("systemd.unreachable", "address error", "A notification could not be sent to systemd."),
        _warning("library.trouble", "library message exception", "A library logged a problem."),
        _warning("trace.trouble", "problem", "Spans could not be exported to the collector."),
        _error("loop.failed", "problem exception", "An exception reached the event loop: a bug."),
        _warning(
            "connection.broken", "problem error", "A connection broke, usually while closing. Requests are retried."
        ),
    ),
    "Leadership and other controllers": (
        _info("leadership.gained", "lease identity", "This process holds the Lease and acts."),
        _info(
            "leadership.standby",
            "lease holder",
            "Another process holds the Lease and acts; this one waits. Logged again when the holder changes.",
        ),
        _info("leadership.released", "lease", "This process gave up the Lease."),
        _warning("leadership.unreleased", "lease error", "The Lease could not be given up; it expires."),
        _warning("leadership.unreachable", "lease error", "The Lease could not be read or renewed; it is retried."),
        _error("rival.found", "problem", "Another controller serves the same objects; the daemon exits."),
        _warning(
            "condition.left_to_another",
            "subject theirs",
            "Another controller keeps overwriting this condition, which Turnstile no longer writes.",
        ),
    ),
    "Workloads": (
        _info(
            "workload.decided",
            "workload rule actions",
            "A decision has actions. Written at most five times a minute for equal decisions about one Workload.",
        ),
        _info(
            "gate.opened",
            "workload worker reason asked_at waited_seconds forecast victims",
            "A gate was opened: why, which signal it answers, and what was forecast.",
        ),
        _info("workload.placed", "workload worker rule", "A Workload's check became Ready."),
        _warning("workload.noted", "workload rule note", "Something holds a Workload up. Written when it changes."),
        _warning(
            "workload.held_up", "workload error failures", "A write to the hub failed for this Workload; it is retried."
        ),
        _error("workload.unreadable", "workload problem", "A Workload is malformed; it is ignored until it changes."),
        _error("workload.failed", "workload exception", "An exception while reconciling a Workload: a bug."),
        _error(
            "workload.decision_loop",
            "workload retry_seconds",
            "More decisions about a Workload than its events explain; it is paused "
            "([runbook](runbook.md#turnstiledecisionloop)).",
        ),
        _warning(
            "workload.contended",
            "workload rule actions",
            "Actions on a Workload keep being undone, usually by another controller; they are slowed down "
            "([runbook](runbook.md#turnstilecontended)).",
        ),
        _warning(
            "action.failed",
            "workload worker error exception",
            "A worker refused an action or did not answer; it is retried. A traceback means a bug.",
        ),
        _warning(
            "job.not_changed",
            "worker workload kind job",
            "A cluster accepted a change to a job and kept none of it (older CustomResourceDefinition, "
            "webhook). It is sent again when one of the two jobs changes.",
        ),
        _warning(
            "replica.not_changed",
            "worker workload",
            "The same for a replica: a worker accepted a change and kept none of it.",
        ),
        _warning("event.lost", "workload cluster job error", "A Kubernetes Event could not be written."),
        _warning(
            "windows.restarted",
            "reason",
            "Open windows start again: the hub was restored, or its address or credentials changed.",
        ),
    ),
    "The hub": (
        _info("hub.connected", "message", "The hub is connected; `message` names kinds that may not be read."),
        _warning("hub.lost", "error", "The hub does not answer; it is tried again."),
        _error("hub.forbids", "problem", "Permissions are missing on the hub; `problem` lists them."),
        _warning(
            "hub.history_rewritten",
            "kind",
            "A list shows an earlier state than before: the hub was restored from a backup. The cache is rebuilt.",
        ),
        _info(
            "condition.written", "subject name status reason", "The condition `Active` of a check or a cluster changed."
        ),
        _warning("condition.unwritten", "subject name error", "That condition could not be written; it is retried."),
        _error("condition.failed", "subject name exception", "An exception while writing a condition: a bug."),
    ),
    "Workers": (
        _info("worker.connecting", "worker", "A worker was added."),
        _info(
            "worker.connected", "worker message", "A worker is connected; `message` says what is not as it should be."
        ),
        _warning("worker.lost", "worker error", "A worker does not answer; it is tried again."),
        _info("worker.reconfigured", "worker", "A worker's kubeconfig changed."),
        _info("worker.ended", "worker", "A worker was removed."),
        _warning("worker.refused", "worker reason message", "A worker's kubeconfig is not used: `message` says why."),
        _warning(
            "worker.kubeconfig_unread", "worker error", "A worker's kubeconfig could not be read; the last one stays."
        ),
        _warning(
            "worker.credential_ends",
            "worker at days_left remedy",
            "A worker's token or client certificate expires within 14 days. Written once a day.",
        ),
        _warning(
            "worker.schema_unread",
            "worker error",
            "A worker's gate spelling could not be read; the last known is used.",
        ),
        _warning(
            "worker.gates_unknown",
            "worker message",
            "A worker is used and nothing has shown yet whether its Kueue honours preemption gates.",
        ),
        _warning(
            "worker.gates_not_honoured",
            "worker message",
            "A worker's Kueue does not honour preemption gates: `message` says what follows from that.",
        ),
        _info("worker.gates_honoured", "worker", "A worker's Kueue honours preemption gates."),
        _info(
            "worker.kueue_version",
            "worker version source",
            "Which Kueue a worker runs, after the first connection and whenever that changes; `source` told it.",
        ),
        _error(
            "worker.failed",
            "cluster problem retry_seconds exception",
            f"An exception in the work on one worker. {_LATER}",
        ),
        _warning(
            "worker.history_rewritten",
            "worker kind",
            "A list shows an earlier state than before: the worker was restored from a backup. The cache is rebuilt.",
        ),
        _warning(
            "worker.cluster_replaced",
            "worker",
            "Another cluster answers at a worker's address; it is identified again.",
        ),
        _warning(
            "worker.identity_refused",
            "worker reason message",
            "A connected worker is not used: a second name of a cluster, or another cluster than before.",
        ),
        _warning("worker.identity_unread", "worker error", "A worker's cluster UID could not be read; it is not used."),
        _warning("identities.unreadable", "error", "ConfigMap `turnstile-worker-clusters` could not be read."),
        _warning(
            "identities.unwritten",
            "error",
            "ConfigMap `turnstile-worker-clusters` could not be written; it is retried.",
        ),
        _warning(
            "lost_workers.unreadable",
            "error",
            "ConfigMap `turnstile-missing-workers` could not be read; lost workers' timeouts start again.",
        ),
        _warning(
            "lost_workers.unwritten",
            "error",
            "ConfigMap `turnstile-missing-workers` could not be written; it is retried.",
        ),
        _info("garbage.removed", "worker kind name", "An orphaned replica or job is deleted."),
        _warning(
            "garbage.unsure", "worker name error", "The hub could not confirm that an object is orphaned; it is kept."
        ),
        _error("garbage.failed", "worker exception", "An exception while looking for orphans on a worker: a bug."),
        _info(
            "stranded_job.stopped",
            "kind name",
            "A job of the hub whose Workload was deleted is reported as stopped, so that Kueue queues it again.",
        ),
        _warning("stranded_job.failed", "kind name error", "That could not be written; it is tried again."),
    ),
    "Forecasts and plans": (
        _warning("forecasts.unavailable", "worker problem remedy", "A worker does not allow what forecasts read."),
        _info("forecasts.available", "worker", "It does now."),
        _warning(
            "topologies.unavailable",
            "worker problem remedy",
            "A worker with `topology: true` does not allow Topologies, Nodes or Pods to be read.",
        ),
        _info("topologies.available", "worker", "It does now."),
        _warning(
            "forecasts.configuration_unusable",
            "worker error",
            "The Configuration that was read from a worker's Kueue cannot be used: forecasts go by what was known.",
        ),
        _warning("forecasts.judged", "worker forecast", "A worker's forecasts became reliable or unreliable."),
        _error(
            "forecasts.failed",
            "cluster problem retry_seconds exception",
            f"An exception while following a worker's queues. {_LATER}",
        ),
        _error(
            "forecast.failed", "worker workload exception", "An exception in one forecast, which becomes `Unsupported`."
        ),
        _warning("podforecasts.forbidden", "worker problem", "A worker does not allow what pod forecasts read."),
        _error(
            "podforecasts.failed",
            "cluster problem retry_seconds exception",
            f"An exception while following a worker's nodes and pods. {_LATER}",
        ),
        _error(
            "podforecast.failed",
            "worker workload exception",
            "An exception in one pod forecast, which becomes `Unsupported`.",
        ),
        _error(
            "plan.failed", "worker exception", "An exception in a plan; that worker's answer becomes `Unsupported`."
        ),
        _error("plan.pods_failed", "exception", "An exception in the pod part of a plan, which becomes `Unsupported`."),
    ),
    "Journal, HTTP and socket": (
        _warning("journal.unwritable", "path error retry_seconds", "The journal cannot be written; entries are lost."),
        _warning("journal.behind", "path", "Entries arrive faster than the disk takes them; some are lost."),
        _warning(
            "journal.full", "path bytes limit", "A reader keeps the journal's files at their limit; entries are lost."
        ),
        _info("journal.has_room", "path dropped", "Entries are written again; `dropped` were lost since the start."),
        _warning("journal.replaced", "path", "The journal's file was deleted or replaced; the new one is used."),
        _warning("journal.refused", "path error", "One entry could not be written, usually because it is too large."),
        _warning("journal.unfinished", "waiting", "Shutdown with this many entries not yet written."),
        _warning(
            "http.crowded",
            "listener client",
            "A connection was closed: too many, or too fast, from `client` or in total.",
        ),
        _warning("http.unaccepted", "error", "A connection could not be accepted."),
        _warning("http.unchecked", "error", "The hub could not be asked about a token; the request was refused."),
        _warning("api.unavailable", "path error", "The socket for commands could not be created."),
    ),
    "Cost controller": (
        _info("cost.started", "model http", "`turnstile cost-controller` runs."),
        _info("cost.stopped", "", "It has shut down."),
        _info("cost.begun", "cluster model priority_boost", "Costs are written on a cluster."),
        _info("cost.ended", "cluster", "A cluster was removed."),
        _info("cost.connection", "cluster state message", "The connection to a cluster changed."),
        _info("cost.updated", "cluster job previous cost model", "A Job's cost changed."),
        _info("cost.propagated", "cluster workload annotations", "A Workload got its Job's cost."),
        _warning("cost.ignored_by_worker", "cluster seen_on", "A cluster's Kueue does not copy costs to Workloads."),
        _info("cost.copied_by_worker", "cluster seen_on", "It does."),
        _warning("cost.unwritten", "cluster job error", "A cost could not be written; it is retried."),
        _warning("cost.unreadable", "cluster job problem", "A Job or its Workload is malformed; it has no cost."),
        _error("cost.complaint", "cluster job reason problem", "A Job's annotations are wrong; also an Event."),
        _error("cost.failed", "cluster job exception", "An exception for one Job, such as in a cost model: a bug."),
        _warning("cost.cluster_refused", "cluster error", "A cluster's kubeconfig cannot be used."),
        _error(
            "cost.cluster_failed",
            "cluster problem retry_seconds exception",
            f"An exception in the work on one cluster. {_LATER}",
        ),
        _warning("event.forbidden", "cluster error", "Events may not be written on a cluster; no more are tried."),
        _warning("worker.skipped", "worker reason", "A worker has no kubeconfig of its own, and so no costs."),
    ),
    "Shadow mode": (
        _info("shadow.started_up", "origin http", "Shadow mode runs."),
        _info("shadow.started", "workload worker gated forecast", "A worker began to preempt for a Workload."),
        _info(
            "shadow.verified",
            "workload worker result message victims",
            "What became of it, compared with its forecast.",
        ),
        _warning(
            "shadow.breach",
            "workload first second seconds gated",
            "Two workers preempted for one Workload within the timeout.",
        ),
        _warning(
            "journal.unread", "error", "The journal could not be read; earlier episodes are missing from the report."
        ),
    ),
}
