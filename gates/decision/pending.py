"""The last rows: a Workload that is pending on every worker. Gates first, then nomination and replicas."""

from collections.abc import Mapping
from typing import assert_never

from config.api.identifiers import NO_WORKER, WorkerName
from gates.decision.cleaning import remove_from
from gates.decision.dispatch import Nomination, nominate
from gates.decision.giving_up import give_up, until_given_up
from gates.decision.ledger import is_between_attempts, known_openings, last_opening
from gates.decision.narrative import pending_message
from gates.decision.nudging import Missed, missed_opening
from gates.decision.opening import (
    Defer,
    Grace,
    Hold,
    Idle,
    NextGate,
    Open,
    Wait,
    is_shared,
    next_gate,
)
from gates.decision.recordkeeping import record_to_write
from gates.decision.sequential import (
    Steps,
    has_choice,
    is_sequential,
    leads,
    may_get_replica,
    next_sequential,
    struck,
    unheld,
    untried,
    with_opening,
)
from gates.decision.verifying import record_of
from gates.decision.windows import last_call
from gates.model.actions import (
    Action,
    CloseGate,
    CreateReplica,
    Decision,
    EmitEvent,
    OpenGate,
    PatchHubStatus,
    RecordOpenings,
    RemoveRemote,
    StartRound,
    Step,
)
from gates.model.hub_workload import Component, HubWorkload, Ownership
from gates.model.rules import Rule
from gates.model.settings import SECOND, Settings, UngatedPolicy
from gates.model.texts import EVENT_LIMIT, MESSAGE_LIMIT, MULTIKUEUE_EVENT, SIBLINGS_APART, cut, no_client
from gates.model.view import Reach, WorkloadView

Policies = Mapping[WorkerName, UngatedPolicy]


def pending(view: WorkloadView, now_ns: int, settings: Settings, policies: Policies, *, tidied: bool) -> Decision:
    """Go on until the Workload is admitted, or its time is over."""
    if not is_between_attempts(view.workload) and (given_up := give_up(view, now_ns, settings)) is not None:
        return given_up
    return until_given_up(_pending(view, now_ns, settings, policies, tidied=tidied), view, now_ns, settings)


def _pending(view: WorkloadView, now_ns: int, settings: Settings, policies: Policies, *, tidied: bool) -> Decision:
    """Open at most one gate, then make sure that every nominated worker, and no other, has a replica.

    While `tidied` replicas are on their way out, the check's message is left alone: the next pass knows more.
    """
    workload = view.workload
    if is_between_attempts(workload):
        return Decision(Rule.NOT_PENDING)
    if (kept := record_to_write(view, now_ns, settings)) is not None:
        return kept
    if workload.targets.problem:
        return _invalid_targets(view, workload.targets.problem)
    gate = next_gate(view, now_ns, settings)
    if isinstance(gate, Open) and (other := untried(view, now_ns, settings)) is not None:
        gate = Defer(gate.worker, now_ns + SECOND, SECOND, f"{other.name} gets its replica first", is_brief=True)
    if opening := _opening_steps(view, gate, settings):
        return Decision(Rule.GATE_OPENED, opening, settings.timeout_ns)
    missed = _missed(view, now_ns, settings)
    if missed is not None and missed.due_ns == 0:
        return Decision(Rule.OPENING_MISSED, _nudge(view, missed, now_ns), settings.timeout_ns)
    timer = _soonest(_timer(gate, now_ns, settings), missed.due_ns if missed is not None else None)
    if workload.cluster_name and not workload.elastic:
        return Decision(Rule.CLUSTER_FORGOTTEN, (Step((PatchHubStatus(cluster_name=NO_WORKER),)),), timer)
    if workload.ownership is Ownership.UNKNOWN:
        return _unreadable_owner(workload, timer)
    if not workload.other_checks_ready:
        return Decision(Rule.WAITS_FOR_CHECKS, requeue_ns=timer)
    if workload.component is not None and not leads(workload.component):
        return _follow_sibling(view, workload.component, timer)
    nomination = nominate(view, now_ns, settings, policies)
    turn_steps, turn_wait = next_sequential(view, nomination, now_ns, settings)
    missing = tuple(no_client(name) for name in nomination.missing)
    coming, leaving = _replica_changes(view, nomination, settings)
    text = None
    is_brief = isinstance(gate, Defer) and gate.is_brief
    if not tidied and not turn_steps and not is_brief:
        to_come, to_leave = ({action.cluster for action in actions} for actions in (coming, leaving))
        text = _news(view, pending_message(view, gate, settings, missing, coming=to_come, leaving=to_leave))
    steps = (*_dispatch_steps(nomination, (*coming, *leaving), text), *(turn_steps or struck(view)))
    return Decision(Rule.DISPATCHED, steps, _soonest(timer, nomination.requeue_ns, turn_wait), missing)


def _opening_steps(view: WorkloadView, gate: NextGate, settings: Settings) -> Steps:
    """Record first, open second: a crash between the two leaves a record that makes the next pass open again."""
    if not isinstance(gate, Open):
        return ()
    replica, opening = gate.replica, gate.opening
    not_after = last_call(opening, settings)
    action = OpenGate(gate.worker.name, replica.uid, replica.resource_version, opening.opened_ns, not_after)
    ledger = with_opening(known_openings(view), gate.opening)
    if ledger == view.workload.openings:
        return (Step((action,)),)
    return (Step((RecordOpenings(ledger, record_of(gate.worker, gate.opening)),)), Step((action,)))


def _missed(view: WorkloadView, now_ns: int, settings: Settings) -> Missed | None:
    """Return the last opening if Kueue overlooked it; while other windows run, its gate could not be opened again."""
    last = last_opening(view)
    if last is None or is_shared(last, view, now_ns, settings):
        return None
    worker = view.worker(last.cluster)
    if worker is not None and worker.exclusion is not None:
        return None  # closed for a moment, the gate would stay closed
    return missed_opening(last, view, now_ns, settings)


def _nudge(view: WorkloadView, missed: Missed, now_ns: int) -> Steps:
    """Close the gate for a moment; that it is closed makes a later pass open it again, even after a crash."""
    replica = missed.replica
    action = CloseGate(missed.worker.name, replica.uid, replica.resource_version, now_ns)
    return (Step((RecordOpenings(with_opening(known_openings(view), missed.nudged)),)), Step((action,)))


def _timer(gate: NextGate, now_ns: int, settings: Settings) -> int | None:
    match gate:
        case Wait(remaining_ns=remaining) | Defer(remaining_ns=remaining):
            return remaining
        case Grace(until_ns=until):
            return until - now_ns
        case Hold():
            return settings.timeout_ns
        case Open() | Idle():
            return None
        case _:
            assert_never(gate)


def _invalid_targets(view: WorkloadView, problem: str) -> Decision:
    """Change nothing while it is not certain which workers are meant; the Event comes with the message."""
    text = cut(problem, EVENT_LIMIT)
    said = _narrate(view, text)
    event = (Step((EmitEvent(MULTIKUEUE_EVENT, text, warning=True),)),) if said else ()
    return Decision(Rule.TARGETS_INVALID, (*said, *event), notes=(problem,))


def _unreadable_owner(workload: HubWorkload, timer: int | None) -> Decision:
    """Dispatch nothing; if the job is present but invalid, say on the check what is wrong with it."""
    check, problem = workload.check, workload.owner_text
    text = cut(problem, MESSAGE_LIMIT)
    changed = bool(text) and check is not None and check.message != text
    steps = (Step((PatchHubStatus(check_message=text),)),) if changed else ()
    return Decision(Rule.OWNER_UNREADABLE, steps, timer, (problem or "the job that owns the Workload cannot be read",))


def _follow_sibling(view: WorkloadView, component: Component, timer: int | None) -> Decision:
    """A component goes where its siblings are, without a gate: their cluster has been decided already."""
    if not component.complete or not component.sibling_clusters:
        return Decision(Rule.FOLLOWS_SIBLINGS, requeue_ns=timer)
    target, *others = sorted(component.sibling_clusters)
    if others:
        return Decision(Rule.FOLLOWS_SIBLINGS, _narrate(view, SIBLINGS_APART), timer, (SIBLINGS_APART,))
    worker = view.worker(target)
    if worker is None or worker.reach is not Reach.SYNCED:
        text = f'assigned worker cluster "{target}" is not available'
        return Decision(Rule.FOLLOWS_SIBLINGS, _narrate(view, text), timer, (text,))
    steps: Steps = (Step((PatchHubStatus(nominated=(target,)),)),) if view.workload.nominated != (target,) else ()
    changes: list[Action] = [remove_from(w) for w in view.holders if w.name != target and w.removable]
    if may_get_replica(worker):
        changes.append(CreateReplica(target, gated=False))
    return Decision(
        Rule.FOLLOWS_SIBLINGS, (*steps, Step(tuple(changes), best_effort=True)) if changes else steps, timer
    )


def _replica_changes(
    view: WorkloadView, nomination: Nomination, settings: Settings
) -> tuple[list[CreateReplica], list[RemoveRemote]]:
    """Return which replicas are to be created, and which removed."""
    nominated = [w for w in view.listed if w.name in nomination.clusters and w.reach is Reach.SYNCED]
    gated = settings.gate_single_target or has_choice(view)
    plain = [w for w in nominated if not is_sequential(w, view)]
    coming = [CreateReplica(w.name, gated=gated) for w in plain if may_get_replica(w)]
    unwanted = {w.name for w in view.holders if w.name not in nomination.clusters} | unheld(view)
    return coming, [remove_from(w) for w in view.holders if w.name in unwanted and w.removable]


def _dispatch_steps(nomination: Nomination, changes: tuple[Action, ...], text: str | None) -> Steps:
    """Nominate and update the message in one write, then change replicas; without changes, only update the message."""
    steps: list[Step] = []
    if nomination.changed:
        steps.append(Step((PatchHubStatus(nominated=nomination.clusters, check_message=text),)))
    if nomination.round_started_ns is not None:
        steps.append(Step((StartRound(nomination.round_started_ns),)))
    if changes:
        steps.append(Step(changes, best_effort=True))
    if not steps and text is not None:
        steps.append(Step((PatchHubStatus(check_message=text),)))
    return tuple(steps)


def _narrate(view: WorkloadView, text: str) -> Steps:
    """Write on the check what the Workload waits for, if that changed."""
    news = _news(view, text)
    return () if news is None else (Step((PatchHubStatus(check_message=news),)),)


def _news(view: WorkloadView, text: str) -> str | None:
    """Return the message unless the check has it already or an action is in flight."""
    check = view.workload.check
    if any(worker.busy and not worker.problem for worker in view.listed):
        return None
    return text if check is not None and text != check.message else None


def _soonest(*waits: int | None) -> int | None:
    return min((wait for wait in waits if wait is not None), default=None)
