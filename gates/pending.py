"""The last rows: a Workload that is pending on every worker. Gates first, then nomination and replicas."""

from collections.abc import Mapping
from dataclasses import replace

from gates.actions import (
    Action,
    CreateReplica,
    Decision,
    OpenGate,
    PatchHubStatus,
    RecordOpenings,
    RemoveRemote,
    StartRound,
    Step,
)
from gates.cleaning import remove_from
from gates.dispatch import Nomination, nominate
from gates.ledger import known_openings, last_opening
from gates.narrative import pending_message
from gates.opening import Defer, Grace, Hold, NextGate, Open, Wait, next_gate, remaining_window
from gates.settings import Settings, UngatedPolicy
from gates.texts import MESSAGE_LIMIT, cut
from gates.verifying import record_of
from gates.view import CheckState, Component, GateSupport, Group, HubWorkload, Opening, Ownership, Reach, Worker

Policies = Mapping[str, UngatedPolicy]
Steps = tuple[Step, ...]


def pending(group: Group, now_ns: int, settings: Settings, policies: Policies, *, tidied: bool) -> Decision:
    """Open at most one gate, then see that every nominated worker has a replica and nobody else does.

    While `tidied` replicas are on their way out, the check's message is left alone: the next pass knows more.
    """
    workload = group.workload
    if workload.check is None or workload.check.state is not CheckState.PENDING or workload.is_true("Evicted"):
        return Decision("G8")
    gate = next_gate(group, now_ns, settings)
    if isinstance(gate, Wait) and gate.holder.opened_ns > now_ns:
        return Decision("G7-clock", (Step((RecordOpenings(_no_later_than(group, now_ns)),)),))
    opening = _opening_steps(group, gate)
    if opening:
        return Decision("G7", opening, settings.timeout_ns)
    if unrecorded := _unrecorded(group):
        return Decision("G7-observed", unrecorded)
    timer = _timer(gate, now_ns, settings)
    if workload.cluster_name and not workload.elastic:
        return Decision("G8-forget", (Step((PatchHubStatus(cluster_name=""),)),), timer)
    if workload.ownership is Ownership.UNKNOWN:
        return _unreadable_owner(workload, timer)
    if not workload.other_checks_ready:
        return Decision("G9-checks", requeue_ns=timer)
    if workload.component is not None and not _leads(workload.component):
        return _follow_sibling(group, workload.component, timer)
    nomination = nominate(group, now_ns, settings, policies)
    turn_steps, turn_wait = _turn(group, nomination, now_ns, settings, policies)
    missing = tuple(f"cluster {name}: no remote client for nominated cluster" for name in nomination.missing)
    coming, leaving = _replica_changes(group, nomination, settings, policies)
    text = None
    if not tidied and not turn_steps:
        to_come, to_leave = ({action.cluster for action in actions} for actions in (coming, leaving))
        text = _news(group, pending_message(group, gate, settings, missing, coming=to_come, leaving=to_leave))
    steps = (*_dispatch_steps(nomination, (*coming, *leaving), text), *turn_steps)
    return Decision("G9", steps, _soonest(timer, nomination.requeue_ns, turn_wait), missing)


def _opening_steps(group: Group, gate: NextGate) -> Steps:
    """Record first, open second: a crash between the two leaves a record that makes the next pass open again."""
    if not isinstance(gate, Open):
        return ()
    action = OpenGate(gate.worker.name, gate.replica.uid, gate.replica.resource_version, gate.opening.opened_ns)
    ledger = _with(known_openings(group), gate.opening)
    if ledger == group.workload.openings:
        return (Step((action,)),)
    return (Step((RecordOpenings(ledger, record_of(gate.worker, gate.opening)),)), Step((action,)))


def _unrecorded(group: Group) -> Steps:
    """Write down what somebody else opened, so that its window outlasts the connection to its worker."""
    ledger = known_openings(group)
    if set(ledger) <= set(group.workload.openings):
        return ()
    return (Step((RecordOpenings(ledger),)),)


def _with(openings: tuple[Opening, ...], new: Opening) -> tuple[Opening, ...]:
    return (*(o for o in openings if o.cluster != new.cluster), new)


def _no_later_than(group: Group, now_ns: int) -> tuple[Opening, ...]:
    """Begin windows now that seem to begin later: the hub's clock was set back, and nobody shall wait for it."""
    return tuple(replace(o, opened_ns=min(o.opened_ns, now_ns)) for o in known_openings(group))


def _timer(gate: NextGate, now_ns: int, settings: Settings) -> int | None:
    match gate:
        case Wait(remaining_ns=remaining) | Defer(remaining_ns=remaining):
            return remaining
        case Grace(until_ns=until):
            return until - now_ns
        case Hold():
            return settings.timeout_ns
        case _:
            return None


def _unreadable_owner(workload: HubWorkload, timer: int | None) -> Decision:
    """Dispatch nothing; if the job is there and makes no sense, say on the check what is wrong with it."""
    check, problem = workload.check, workload.owner_text
    text = cut(problem, MESSAGE_LIMIT)
    changed = bool(text) and check is not None and check.message != text
    steps = (Step((PatchHubStatus(check_message=text),)),) if changed else ()
    return Decision("G9-owner", steps, timer, (problem or "the job that owns the Workload cannot be read",))


def _leads(component: Component) -> bool:
    """Tell whether the Workload chooses for its siblings; once one of them is placed, nobody does."""
    return component.complete and component.is_primary and not component.sibling_clusters


def _follow_sibling(group: Group, component: Component, timer: int | None) -> Decision:
    """A component goes where its siblings are, without a gate: their cluster has been decided already."""
    if not component.complete or not component.sibling_clusters:
        return Decision("G9-component", requeue_ns=timer)
    target, *others = sorted(component.sibling_clusters)
    if others:
        text = "siblings are on several clusters"
        return Decision("G9-component", _narrate(group, text), timer, (text,))
    worker = group.worker(target)
    if worker is None or worker.reach is not Reach.SYNCED:
        text = f'assigned worker cluster "{target}" is not available'
        return Decision("G9-component", _narrate(group, text), timer, (text,))
    steps: Steps = (Step((PatchHubStatus(nominated=(target,)),)),) if group.workload.nominated != (target,) else ()
    changes: list[Action] = [remove_from(w) for w in group.holders if w.name != target]
    if _may_get_replica(worker):
        changes.append(CreateReplica(target, gated=False))
    return Decision("G9-component", (*steps, Step(tuple(changes), best_effort=True)) if changes else steps, timer)


def _replica_changes(
    group: Group, nomination: Nomination, settings: Settings, policies: Policies
) -> tuple[list[CreateReplica], list[RemoveRemote]]:
    """Tell which replicas are to come, and which to leave."""
    nominated = [w for w in group.listed if w.name in nomination.clusters and w.reach is Reach.SYNCED]
    gated = settings.gate_single_target or _has_choice(group)
    plain = [w for w in nominated if not _takes_turns(w, policies)]
    coming = [CreateReplica(w.name, gated=gated) for w in plain if _may_get_replica(w)]
    return coming, [remove_from(w) for w in group.holders if w.name not in nomination.clusters]


def _dispatch_steps(nomination: Nomination, changes: tuple[Action, ...], text: str | None) -> Steps:
    """Nominate and tell of it in one write, then change replicas; where nothing is to be done, just tell."""
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


def _turn(
    group: Group, nomination: Nomination, now_ns: int, settings: Settings, policies: Policies
) -> tuple[Steps, int | None]:
    """Give the next worker that ignores gates its replica, if no window is running; else say how long it waits."""
    waiting = (w for w in group.listed if w.name in nomination.clusters and w.reach is Reach.SYNCED)
    turn = next((w for w in waiting if _takes_turns(w, policies) and _may_get_replica(w)), None)
    if turn is None:
        return (), None
    last = last_opening(group)
    if last is not None and (remaining := remaining_window(last, now_ns, settings)) > 0:
        return (), remaining
    ledger = _with(known_openings(group), Opening(turn.name, "", now_ns))
    return (Step((RecordOpenings(ledger),)), Step((CreateReplica(turn.name, gated=False),))), settings.timeout_ns


def _may_get_replica(worker: Worker) -> bool:
    return worker.replica is None and not worker.foreign_replica and not worker.busy


def _takes_turns(worker: Worker, policies: Policies) -> bool:
    """A worker that ignores gates may preempt as soon as it has a replica, so its replica is its opening."""
    return worker.gates is GateSupport.MISSING and policies.get(worker.name) is UngatedPolicy.SEQUENTIAL


def _has_choice(group: Group) -> bool:
    """Tell whether more than one worker is nominated or may yet be, as a lost one that comes back may."""
    workload = group.workload
    return not (workload.elastic and workload.cluster_name) and len(group.listed) > 1


def _narrate(group: Group, text: str) -> Steps:
    """Tell on the check what the Workload waits for, if that is news."""
    news = _news(group, text)
    return () if news is None else (Step((PatchHubStatus(check_message=news),)),)


def _news(group: Group, text: str) -> str | None:
    """Return the text unless the check says so already or something is on its way."""
    check = group.workload.check
    if any(worker.busy and not worker.problem for worker in group.listed):
        return None
    return text if check is not None and text != check.message else None


def _soonest(*waits: int | None) -> int | None:
    return min((wait for wait in waits if wait is not None), default=None)
