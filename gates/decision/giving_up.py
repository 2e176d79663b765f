"""A Workload that no worker admits is not kept waiting for ever: it would hold the hub's quota all that time."""

from dataclasses import replace
from typing import Final

from gates.decision.ledger import known_openings
from gates.decision.policies import usable
from gates.decision.windows import holding
from gates.model.actions import Decision, EmitEvent, PatchHubStatus, Step
from gates.model.hub_workload import CheckState
from gates.model.rules import Rule
from gates.model.settings import GiveUpState, Settings
from gates.model.texts import EVENT_LIMIT, MULTIKUEUE_EVENT, cut, moment, previously
from gates.model.view import WorkerView, WorkloadView

_REQUEUE_SECONDS: Final = 60
"""How long the hub leaves it out of its queue, so that others get the quota."""


def gives_up_ns(view: WorkloadView, settings: Settings) -> int | None:
    """Return when a pending Workload is given up, on the hub's clock; None if it may wait for as long as it takes."""
    workload = view.workload
    own = workload.targets.give_up_after_ns
    patience = settings.give_up_after_ns if own is None else own
    is_placed = workload.cluster_name or (workload.component is not None and workload.component.sibling_clusters)
    if not patience or not workload.attempt_ns or is_placed or not workload.other_checks_ready:
        return None
    return workload.attempt_ns + patience


def give_up(view: WorkloadView, now_ns: int, settings: Settings) -> Decision | None:
    """Give a Workload up when its time is over, unless a worker is about to admit it or a preemption is under way."""
    due_ns, check = gives_up_ns(view, settings), view.workload.check
    if due_ns is None or now_ns < due_ns or check is None or _is_about_to_start(view, now_ns, settings):
        return None
    reasons = [reason for reason in (view.workload.targets.problem, *map(_reason, view.listed)) if reason]
    text = cut(f"No worker admitted it by {moment(due_ns)}: {'; '.join(reasons)}", EVENT_LIMIT)
    is_retried = settings.give_up_state is GiveUpState.RETRY
    patch = PatchHubStatus(
        check_state=CheckState.RETRY if is_retried else CheckState.REJECTED,
        check_message=previously(text, check.state),
        requeue_after_seconds=_REQUEUE_SECONDS if is_retried else None,
    )
    return Decision(Rule.GIVEN_UP, (Step((patch,)), Step((EmitEvent(MULTIKUEUE_EVENT, text, warning=True),))))


def until_given_up(decision: Decision, view: WorkloadView, now_ns: int, settings: Settings) -> Decision:
    """Have a pending Workload reconciled when its time is over."""
    due_ns = gives_up_ns(view, settings)
    if due_ns is None:
        return decision
    left = due_ns - now_ns if due_ns > now_ns else holding(known_openings(view), view, now_ns, settings)[1]
    if left <= 0:
        return decision
    return replace(decision, requeue_ns=left if decision.requeue_ns is None else min(left, decision.requeue_ns))


def _is_about_to_start(view: WorkloadView, now_ns: int, settings: Settings) -> bool:
    has_quota = any(w.replica is not None and w.replica.is_true("QuotaReserved") for w in view.workers)
    return has_quota or holding(known_openings(view), view, now_ns, settings)[1] > 0


def _reason(worker: WorkerView) -> str:
    """Say why a worker did not admit it, as far as that is known: the forecast first."""
    forecast = usable(worker)
    if worker.exclusion is not None:
        why = f"ruled out, {worker.exclusion.text}"
    elif forecast is not None:
        why = f"{forecast.verdict}{f', {forecast.message}' if forecast.message else ''}"
    elif worker.problem:
        why = worker.problem
    else:
        why = str(worker.reach) if worker.replica is None else "pending there"
    return f"{worker.name}: {why}"
