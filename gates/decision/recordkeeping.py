"""Keeps the record of openings true before anything is decided from it.

Whatever makes the record doubtful (a clock that was set, another machine, a record that is lost or cannot be read, a
gate that another writer opened, an opening that arrived late) only ever makes windows longer: they begin again, and
what the record says of them is written before the next gate can open.
"""

from dataclasses import replace
from typing import Final

from gates.decision.ledger import UNKNOWN_CLUSTER, known_openings
from gates.decision.windows import begun_again, latest_arrival, must_begin_again, opening_of
from gates.model import marks
from gates.model.actions import Decision, EmitEvent, RecordOpenings, Step
from gates.model.openings import Opening, Steady
from gates.model.rules import Rule
from gates.model.settings import SECOND, Settings
from gates.model.view import GateSupport, WorkloadView

_MOST_BY_OTHERS: Final = 3
_NOTABLE_NS: Final = SECOND // 10
"""How late an opening has to arrive for its wall time to be written again; its window is measured without it."""


def record_to_write(view: WorkloadView, now_ns: int, settings: Settings) -> Decision | None:
    """Return the decision that puts the record right, None if it is."""
    workload = view.workload
    known = known_openings(view)
    if workload.openings_unreadable:
        unknown = replace(opening_of(UNKNOWN_CLUSTER, None, view, now_ns, settings), took_effect=True)
        others = (opening for opening in known if opening.cluster != UNKNOWN_CLUSTER)
        ledger = (*(begun_again(opening, view, now_ns) for opening in others), unknown)
        return Decision(Rule.OPENINGS_UNREADABLE, (_write(ledger), Step((_complaint(),), best_effort=True)))
    if missing := [o for o in known if o not in workload.openings]:
        rule = Rule.OPENINGS_LOST if any(o in workload.lost_openings for o in missing) else Rule.OPENING_OBSERVED
        taken_up = tuple(_taken_up(o, view, now_ns) if o in missing else o for o in known)
        return Decision(rule, (_write(taken_up),))
    if doubtful := [o for o in known if must_begin_again(o, view, now_ns, settings)]:
        return Decision(Rule.WINDOW_RESTARTED, (_write(_begun(doubtful, known, view, now_ns)),))
    if confirmed := {o.cluster: _confirmed(o, view, settings) for o in known if _is_news(o, view)}:
        return Decision(Rule.OPENING_TOOK_EFFECT, (_write(tuple(confirmed.get(o.cluster, o) for o in known)),))
    return None


def _taken_up(opening: Opening, view: WorkloadView, now_ns: int) -> Opening:
    """Return an opening that is missing from the record as it is to be recorded: its window begins now.

    A worker that opens its own gate again and again gets no more than so many windows in one attempt by that.
    """
    if opening in view.workload.lost_openings:
        return begun_again(opening, view, now_ns)
    mine = (o for o in view.workload.openings if (o.cluster, o.attempt) == (opening.cluster, opening.attempt))
    before = next(mine, None)
    if before is not None and before.by_others >= _MOST_BY_OTHERS:
        return replace(before, replica_uid=opening.replica_uid, entry_ns=opening.entry_ns, took_effect=True)
    begun = begun_again(opening, view, now_ns)
    if before is None:
        return replace(begun, by_others=1, turn=view.steady)
    return replace(begun, by_others=before.by_others + 1, nudges=before.nudges, turn=before.turn)


def _begun(which: list[Opening], known: tuple[Opening, ...], view: WorkloadView, now_ns: int) -> tuple[Opening, ...]:
    return tuple(begun_again(o, view, now_ns) if o in which else o for o in known)


def _is_news(opening: Opening, view: WorkloadView) -> bool:
    worker = view.worker(opening.cluster)
    if worker is None or worker.effect_ns is None or opening.took_effect or opening.steady is None:
        return False
    return not opening.until_shown or worker.gates is GateSupport.MISSING  # mostly it is none in a moment


def _confirmed(opening: Opening, view: WorkloadView, settings: Settings) -> Opening:
    """Return an opening that took effect, with a window that counts from then; the wall time moves only if it was late.

    A worker may show it later than it can have happened, which makes the window no longer.
    """
    worker, began = view.worker(opening.cluster), opening.steady
    effect_ns = worker.effect_ns if worker is not None else None
    if began is None or effect_ns is None or effect_ns <= began.at_ns:
        return replace(opening, took_effect=True)
    late_ns = min(effect_ns - began.at_ns, latest_arrival(opening, settings))
    opened_ns = opening.opened_ns + (late_ns if late_ns > _NOTABLE_NS else 0)
    return replace(opening, opened_ns=opened_ns, steady=Steady(began.clock, began.at_ns + late_ns), took_effect=True)


def _write(ledger: tuple[Opening, ...]) -> Step:
    return Step((RecordOpenings(ledger),))


def _complaint() -> EmitEvent:
    text = f"Annotation {marks.GATE_OPENINGS} could not be read: no gate opens for one timeout, and it is rewritten"
    return EmitEvent("UnreadableRecord", text, warning=True)
