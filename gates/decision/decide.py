"""The ordered decision table of one hub Workload: the first row that matches answers.

Rows are named as in docs/reconcile.md. Reapplying a decision to the state it leads to yields no action.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import assert_never

from config.api.identifiers import NO_WORKER, WorkerName
from gates.decision.cleaning import remove_all, tidy
from gates.decision.following import (
    abandoned_job,
    admitting_remote,
    chosen_remote,
    evicted_remote,
    finished_remote,
    lost_remote,
)
from gates.decision.pending import pending
from gates.decision.pod_verifying import with_pod_verification
from gates.decision.remembering import promises, to_remember
from gates.decision.verifying import with_verification
from gates.model.actions import Decision, PatchHubStatus, Step
from gates.model.hub_workload import CheckState, Ownership
from gates.model.rules import Rule
from gates.model.settings import Dispatcher, Settings, UngatedPolicy
from gates.model.texts import no_adapter, not_managed, previously, unsupported
from gates.model.view import Reach, WorkloadView

Row = Callable[[WorkloadView, int, Settings], Decision | None]


def decide(
    view: WorkloadView, now_ns: int, settings: Settings, policies: Mapping[WorkerName, UngatedPolicy]
) -> Decision:
    """Decide what to do about one Workload now."""
    view = _with_policies(view, policies)
    decision = with_verification(_decide(view, now_ns, settings, policies), view, now_ns, settings)
    decision = with_pod_verification(decision, view, now_ns, settings)
    notes = (*decision.notes, *view.workload.unreadable)
    remembered = (*to_remember(view), *promises(decision, view, settings))
    return replace(decision, notes=notes, local_actions=remembered)


def _with_policies(view: WorkloadView, policies: Mapping[WorkerName, UngatedPolicy]) -> WorkloadView:
    allowed = {name for name, policy in policies.items() if policy is UngatedPolicy.ALLOW}
    if allowed.isdisjoint(worker.name for worker in view.workers):
        return view
    workers = (replace(worker, ungated_allowed=worker.name in allowed) for worker in view.workers)
    return replace(view, workers=tuple(workers))


def _decide(
    view: WorkloadView, now_ns: int, settings: Settings, policies: Mapping[WorkerName, UngatedPolicy]
) -> Decision:
    for row in _SETTLED:
        decision = row(view, now_ns, settings)
        if decision is not None:
            return decision
    earlier, tidied = tidy(view)
    for row in (lost_remote, chosen_remote, admitting_remote):
        decision = row(tidied, now_ns, settings)
        if decision is not None:
            return decision.after(*earlier)
    return pending(tidied, now_ns, settings, policies, tidied=bool(earlier)).after(*earlier)


def _without_check(view: WorkloadView, _now_ns: int, _settings: Settings) -> Decision | None:
    """Nothing is dispatched without our check; replicas left from an earlier life of the check are removed."""
    if view.workload.check is not None:
        return None
    return Decision(Rule.NO_CHECK, remove_all(view))


def _rejected(view: WorkloadView, _now_ns: int, _settings: Settings) -> Decision | None:
    check = view.workload.check
    if check is None or check.state is not CheckState.REJECTED or view.workload.deleted:
        return None
    return Decision(Rule.CHECK_REJECTED)


def _unowned(view: WorkloadView, _now_ns: int, settings: Settings) -> Decision | None:
    """Reject what cannot run remotely, so that the hub tells the user instead of waiting forever."""
    workload = view.workload
    check = workload.check
    if check is None or workload.deleted:
        return None
    match workload.ownership:
        case Ownership.MANAGED | Ownership.UNKNOWN:
            return None
        case Ownership.OWNERLESS:
            if not settings.reject_ownerless:
                return None
            rule, text = Rule.NO_JOB_INTEGRATION, no_adapter("")
        case Ownership.NO_ADAPTER:
            rule, text = Rule.NO_JOB_INTEGRATION, no_adapter(workload.owner_text)
        case Ownership.NOT_MANAGED:
            rule, text = (
                Rule.JOB_NOT_DISPATCHABLE,
                not_managed(workload.managed_by_path, settings.managed_by, workload.owner_text),
            )
        case Ownership.UNSUPPORTED:
            rule, text = Rule.JOB_NOT_DISPATCHABLE, unsupported(workload.owner_text)
        case _:
            assert_never(workload.ownership)
    patch = PatchHubStatus(check_state=CheckState.REJECTED, check_message=previously(text, check.state))
    return Decision(rule, (Step((patch,)),))


def _deleted(view: WorkloadView, _now_ns: int, _settings: Settings) -> Decision | None:
    return Decision(Rule.WORKLOAD_DELETED, remove_all(view)) if view.workload.deleted else None


def _replaced_slice(view: WorkloadView, _now_ns: int, _settings: Settings) -> Decision | None:
    """A replaced slice's remote objects run on under the slice that replaced it."""
    workload = view.workload
    if not workload.elastic:
        return None
    finished = workload.conditions.get("Finished")
    replaced = workload.is_true("Finished") and finished is not None and finished.reason == "WorkloadSliceReplaced"
    waits = not workload.is_true("Finished") and not workload.is_true("QuotaReserved") and workload.replaces_slice
    return Decision(Rule.SLICE_REPLACED) if replaced or waits else None


def _done_or_without_quota(view: WorkloadView, _now_ns: int, settings: Settings) -> Decision | None:
    workload = view.workload
    if not workload.is_true("Finished") and workload.is_true("QuotaReserved"):
        return None
    unreachable = any(worker.reach is not Reach.SYNCED for worker in view.listed)
    steps = (*remove_all(view), *_forget_clusters(view, settings))
    return Decision(Rule.FINISHED_OR_NO_QUOTA, steps, settings.worker_lost_ns if unreachable else None)


def _forget_clusters(view: WorkloadView, settings: Settings) -> tuple[Step, ...]:
    """Take back what an evicted Workload's status says of clusters.

    Kueue leaves that out of what it applies then, but a field goes only when all who wrote it let go of it.
    """
    workload = view.workload
    nominated = workload.nominated if settings.dispatcher is not Dispatcher.EXTERNAL else ()
    if workload.is_true("Finished") or not (workload.cluster_name or nominated):
        return ()
    return (Step((PatchHubStatus(cluster_name=NO_WORKER, nominated=() if nominated else None),)),)


_SETTLED: tuple[Row, ...] = (
    _without_check,
    _rejected,
    _deleted,
    _unowned,
    _replaced_slice,
    _done_or_without_quota,
    finished_remote,
    evicted_remote,
    abandoned_job,
)
