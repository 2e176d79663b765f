"""The ordered decision table of one hub Workload: the first row that matches answers.

Rows are named as in docs/reconcile.md. Reapplying a decision to the state it leads to yields no action.
"""

from collections.abc import Callable, Mapping

from gates.actions import Decision, PatchHubStatus, Step
from gates.cleaning import remove_all, tidy
from gates.following import (
    abandoned_job,
    admitting_remote,
    chosen_remote,
    evicted_remote,
    finished_remote,
    lost_remote,
)
from gates.pending import pending
from gates.pod_verifying import with_pod_verification
from gates.settings import Dispatcher, Settings, UngatedPolicy
from gates.texts import no_adapter, not_managed, previously, unsupported
from gates.verifying import with_verification
from gates.view import CheckState, Group, Ownership, Reach

Row = Callable[[Group, int, Settings], Decision | None]


def decide(group: Group, now_ns: int, settings: Settings, policies: Mapping[str, UngatedPolicy]) -> Decision:
    """Decide what to do about one Workload now."""
    decision = with_verification(_decide(group, now_ns, settings, policies), group, now_ns, settings)
    return with_pod_verification(decision, group, now_ns, settings)


def _decide(group: Group, now_ns: int, settings: Settings, policies: Mapping[str, UngatedPolicy]) -> Decision:
    for row in _SETTLED:
        decision = row(group, now_ns, settings)
        if decision is not None:
            return decision
    earlier, tidied = tidy(group)
    for row in (lost_remote, chosen_remote, admitting_remote):
        decision = row(tidied, now_ns, settings)
        if decision is not None:
            return decision.after(*earlier)
    return pending(tidied, now_ns, settings, policies, tidied=bool(earlier)).after(*earlier)


def _without_check(group: Group, _now_ns: int, _settings: Settings) -> Decision | None:
    """Nothing is dispatched without our check; replicas left from an earlier life of the check are removed."""
    if group.workload.check is not None:
        return None
    return Decision("P5", remove_all(group))


def _rejected(group: Group, _now_ns: int, _settings: Settings) -> Decision | None:
    check = group.workload.check
    if check is None or check.state is not CheckState.REJECTED or group.workload.deleted:
        return None
    return Decision("P5")


def _unowned(group: Group, _now_ns: int, settings: Settings) -> Decision | None:
    """Reject what nobody could run remotely, so that the hub tells the user instead of waiting for ever."""
    workload = group.workload
    check = workload.check
    if check is None or workload.deleted:
        return None
    match workload.ownership:
        case Ownership.MANAGED | Ownership.UNKNOWN:
            return None
        case Ownership.OWNERLESS:
            if not settings.reject_ownerless:
                return None
            rule, text = "P6", no_adapter("")
        case Ownership.NO_ADAPTER:
            rule, text = "P6", no_adapter(workload.owner_text)
        case Ownership.NOT_MANAGED:
            rule, text = "P7", not_managed(workload.managed_by_path, settings.managed_by, workload.owner_text)
        case Ownership.UNSUPPORTED:
            rule, text = "P7", unsupported(workload.owner_text)
    patch = PatchHubStatus(check_state=CheckState.REJECTED, check_message=previously(text, check.state))
    return Decision(rule, (Step((patch,)),))


def _deleted(group: Group, _now_ns: int, _settings: Settings) -> Decision | None:
    return Decision("P10", remove_all(group)) if group.workload.deleted else None


def _replaced_slice(group: Group, _now_ns: int, _settings: Settings) -> Decision | None:
    """A replaced slice's remote objects run on under the slice that replaced it."""
    workload = group.workload
    if not workload.elastic:
        return None
    finished = workload.conditions.get("Finished")
    replaced = workload.is_true("Finished") and finished is not None and finished.reason == "WorkloadSliceReplaced"
    waits = not workload.is_true("Finished") and not workload.is_true("QuotaReserved") and workload.replaces_slice
    return Decision("G1") if replaced or waits else None


def _done_or_without_quota(group: Group, _now_ns: int, settings: Settings) -> Decision | None:
    workload = group.workload
    if not workload.is_true("Finished") and workload.is_true("QuotaReserved"):
        return None
    unreachable = any(worker.reach is not Reach.SYNCED for worker in group.listed)
    steps = (*remove_all(group), *_forget_clusters(group, settings))
    return Decision("G2", steps, settings.worker_lost_ns if unreachable else None)


def _forget_clusters(group: Group, settings: Settings) -> tuple[Step, ...]:
    """Take back what an evicted Workload's status says of clusters.

    Kueue leaves that out of what it applies then, but a field goes only when all who wrote it let go of it.
    """
    workload = group.workload
    nominated = workload.nominated if settings.dispatcher is not Dispatcher.EXTERNAL else ()
    if workload.is_true("Finished") or not (workload.cluster_name or nominated):
        return ()
    return (Step((PatchHubStatus(cluster_name="", nominated=() if nominated else None),)),)


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
