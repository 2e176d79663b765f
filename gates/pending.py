"""The last rows: a Workload that is pending on every worker. Gates first, then nomination and replicas."""

from gates.actions import Action, CreateReplica, Decision, OpenGate, PatchHubStatus, RecordOpenings, StartRound
from gates.cleaning import remove_from
from gates.dispatch import Nomination, nominate
from gates.ledger import last_opening, standing_openings
from gates.narrative import pending_message
from gates.opening import Hold, NextGate, Open, Wait, next_gate
from gates.settings import Settings, UngatedPolicy
from gates.view import CheckState, GateSupport, Group, HubWorkload, Opening, Reach, Worker

Steps = tuple[tuple[Action, ...], ...]


def pending(group: Group, now_ns: int, settings: Settings, policies: dict[str, UngatedPolicy]) -> Decision:
    """Open at most one gate, then see that every nominated worker has a replica and nobody else does."""
    workload = group.workload
    if workload.check is None or workload.check.state is not CheckState.PENDING or workload.is_true("Evicted"):
        return Decision("G8")
    gate = next_gate(group, now_ns, settings)
    opening = _opening_steps(group, gate)
    if opening:
        return Decision("G7", opening, settings.timeout_ns)
    timer = _timer(gate, settings)
    if workload.cluster_name and not workload.elastic:
        return Decision("G8", requeue_ns=timer)
    if not workload.other_checks_ready:
        return Decision("G9-checks", requeue_ns=timer)
    if workload.component is not None and not (workload.component.complete and workload.component.is_primary):
        return _follow_sibling(group, timer)
    nomination = nominate(group, now_ns, settings, policies)
    steps = _dispatch_steps(group, nomination, now_ns, settings, policies)
    steps = (*steps, *_narrate(group, gate, steps))
    missing = tuple(f"cluster {name}: no remote client for nominated cluster" for name in nomination.missing)
    return Decision("G9", steps, _sooner(timer, nomination.requeue_ns), missing)


def _opening_steps(group: Group, gate: NextGate) -> Steps:
    """Record first, open second: a crash between the two leaves a record that makes the next pass open again."""
    if not isinstance(gate, Open):
        return ()
    action = OpenGate(gate.worker.name, gate.replica.uid, gate.replica.resource_version, gate.opening.opened_ns)
    ledger = _with(standing_openings(group), gate.opening)
    if ledger == group.workload.openings:
        return ((action,),)
    return ((RecordOpenings(ledger),), (action,))


def _with(openings: tuple[Opening, ...], new: Opening) -> tuple[Opening, ...]:
    return (*(o for o in openings if o.cluster != new.cluster), new)


def _timer(gate: NextGate, settings: Settings) -> int | None:
    match gate:
        case Wait(remaining_ns=remaining):
            return remaining
        case Hold():
            return settings.timeout_ns
        case _:
            return None


def _follow_sibling(group: Group, timer: int | None) -> Decision:
    """A component goes where its siblings are, without a gate: their cluster has been decided already."""
    component = group.workload.component
    if component is None or len(component.sibling_clusters) != 1:
        conflict = () if component is None or not component.sibling_clusters else ("siblings are on several clusters",)
        return Decision("G9-component", requeue_ns=timer, notes=conflict)
    (target,) = component.sibling_clusters
    worker = group.worker(target)
    if worker is None or worker.reach is not Reach.SYNCED:
        return Decision("G9-component", notes=(f'assigned worker cluster "{target}" is not available',))
    nomination = Nomination((target,), changed=group.workload.nominated != (target,))
    steps: Steps = ((PatchHubStatus(nominated=(target,)),),) if nomination.changed else ()
    changes: list[Action] = [remove_from(w) for w in group.holders if w.name != target]
    if worker.replica is None and not worker.foreign_replica:
        changes.append(CreateReplica(target, gated=False))
    return Decision("G9-component", (*steps, tuple(changes)) if changes else steps, timer)


def _dispatch_steps(
    group: Group, nomination: Nomination, now_ns: int, settings: Settings, policies: dict[str, UngatedPolicy]
) -> Steps:
    steps: list[tuple[Action, ...]] = []
    if nomination.changed:
        steps.append((PatchHubStatus(nominated=nomination.clusters),))
    if nomination.round_started_ns is not None:
        steps.append((StartRound(nomination.round_started_ns),))
    nominated = [w for w in group.listed if w.name in nomination.clusters and w.reach is Reach.SYNCED]
    gated = settings.gate_single_target or len(nomination.clusters) > 1
    plain = [w for w in nominated if not _takes_turns(w, policies)]
    changes: list[Action] = [
        CreateReplica(w.name, gated=gated) for w in plain if w.replica is None and not w.foreign_replica
    ]
    changes += [remove_from(w) for w in group.holders if w.name not in nomination.clusters]
    if changes:
        steps.append(tuple(changes))
    turn = next(
        (w for w in nominated if _takes_turns(w, policies) and w.replica is None and not w.foreign_replica), None
    )
    if turn is not None and _window_is_free(group, now_ns, settings):
        opening = Opening(turn.name, "", now_ns)
        steps.append((RecordOpenings(_with(standing_openings(group), opening)),))
        steps.append((CreateReplica(turn.name, gated=False),))
    return tuple(steps)


def _takes_turns(worker: Worker, policies: dict[str, UngatedPolicy]) -> bool:
    """A worker that ignores gates may preempt as soon as it has a replica, so its replica is its opening."""
    return worker.gates is GateSupport.MISSING and policies.get(worker.name) is UngatedPolicy.SEQUENTIAL


def _window_is_free(group: Group, now_ns: int, settings: Settings) -> bool:
    last = last_opening(group)
    return last is None or now_ns - last.opened_ns >= settings.timeout_ns


def _narrate(group: Group, gate: NextGate, steps: Steps) -> Steps:
    """Tell on the check what the Workload waits for; only when the sentence changed, and not amid other writes."""
    workload: HubWorkload = group.workload
    if steps or workload.check is None:
        return ()
    text = pending_message(group, gate)
    return ((PatchHubStatus(check_message=text),),) if text != workload.check.message else ()


def _sooner(first: int | None, second: int | None) -> int | None:
    given = [value for value in (first, second) if value is not None]
    return min(given, default=None)
