"""Which gate opens next, in every situation of the gates."""

from dataclasses import dataclass, replace

from config.api.identifiers import ReplicaUID, WorkerName
from gates.model.openings import Opening
from gates.model.settings import MINUTE, SECOND, Settings
from gates.model.view import Reach, WorkloadView
from tests.support.worker_names import W1, W2
from tests.unit.gates.groups import ATTEMPT, NOW, SETTINGS, T, condition, group, hub, opened, replica, signalled, worker


@dataclass(frozen=True)
class Case:
    group: WorkloadView
    want: object
    settings: Settings = SETTINGS


LATE, EARLY = NOW - 10 * SECOND, NOW - 20 * SECOND


HALF_MINUTE = Settings(timeout_ns=30 * SECOND)


def recorded(cluster: str, at: int) -> tuple[Opening, ...]:
    return (Opening(WorkerName(cluster), ReplicaUID(f"{cluster}-uid"), at),)


CASES = {
    "69 both signal, the earlier one opens": Case(
        group(hub(), worker("w1", signalled("w1", at=LATE)), worker("w2", signalled("w2", at=EARLY))), ("w2", NOW)
    ),
    "70 after the timeout the other one opens": Case(
        group(hub(), worker("w1", opened("w1", at=NOW - T)), worker("w2", signalled("w2", at=EARLY))), ("w2", NOW)
    ),
    "71 inside the timeout the other one waits": Case(
        group(hub(), worker("w1", opened("w1", at=NOW - T + SECOND)), worker("w2", signalled("w2", at=EARLY))),
        ("wait", SECOND),
    ),
    "72 no worker asks, nothing opens, no timer": Case(
        group(hub(), worker("w1", opened("w1", at=NOW - T)), worker("w2", replica("w2"))), "idle"
    ),
    "73 a signal that is not True does not ask": Case(group(hub(), worker("w1", replica("w1"))), "idle"),
    "a record whose opening never arrived is carried out after a restart, while others wait in the same window": Case(
        group(
            hub(openings=recorded("w1", NOW - MINUTE)),
            worker("w1", signalled("w1", at=NOW - 2 * MINUTE)),
            worker("w2", signalled("w2", at=NOW - 3 * MINUTE)),
        ),
        ("w1", NOW - MINUTE),
    ),
    "a record whose opening never arrived is carried out after a restart, alone in a window of its own": Case(
        group(hub(openings=recorded("w1", NOW - MINUTE)), worker("w1", signalled("w1", at=NOW - 2 * MINUTE))),
        ("w1", NOW),
    ),
    "F7 nothing is sent in the second half of a window": Case(
        group(
            hub(openings=recorded("w1", NOW - T // 2)),
            worker("w1", signalled("w1", at=NOW - T), opening_confirmed=True),
            worker("w2", signalled("w2", at=NOW - T)),
        ),
        ("wait", T // 2),
    ),
    "F7 no gate opens while an opening is on its way, however long ago it was recorded": Case(
        group(
            hub(openings=recorded("w1", NOW - 2 * T)),
            worker("w1", signalled("w1", at=NOW - 3 * T), opening_on_its_way=True, busy=True),
            worker("w2", signalled("w2", at=NOW - T)),
        ),
        ("wait", SECOND),
    ),
    "F13 a worker that asks again comes after those that had no turn, however it dates its request": Case(
        group(
            hub(openings=(Opening(W1, ReplicaUID("w1-old"), NOW - T, ATTEMPT),)),
            worker("w1", signalled("w1", at=0)),
            worker("w2", signalled("w2", at=NOW)),
        ),
        ("w2", NOW),
    ),
    "F13 among those that had one, whose turn is longest ago": Case(
        group(
            hub(
                openings=(
                    Opening(W1, ReplicaUID("w1-old"), NOW - T, ATTEMPT),
                    Opening(W2, ReplicaUID("w2-old"), NOW - 2 * T, ATTEMPT),
                )
            ),
            worker("w1", signalled("w1", at=0)),
            worker("w2", signalled("w2", at=NOW)),
        ),
        ("w2", NOW),
    ),
    "81 equal signals: configuration order decides": Case(
        group(hub(), worker("w2", signalled("w2", at=EARLY)), worker("w1", signalled("w1", at=EARLY))), ("w1", NOW)
    ),
    "82 the opened worker is gone, the window is not": Case(
        group(
            hub(openings=recorded("w1", NOW - MINUTE)),
            worker("w1", reach=Reach.LOST, lost_since_ns=NOW - 30 * SECOND),
            worker("w2", signalled("w2", at=EARLY)),
        ),
        ("wait", T - MINUTE),
    ),
    "83 after a restart the record alone keeps the window": Case(
        group(
            hub(openings=recorded("w1", NOW - MINUTE)),
            worker("w1", reach=Reach.UNREADABLE),
            worker("w2", signalled("w2", at=EARLY)),
        ),
        ("wait", T - MINUTE),
    ),
    "84 a clock an hour ahead is clamped to now and cannot overtake": Case(
        group(
            hub(), worker("w1", signalled("w1", at=NOW + 60 * MINUTE)), worker("w2", signalled("w2", at=NOW - SECOND))
        ),
        ("w2", NOW),
    ),
    "84 a clock an hour ahead with a known skew is put right": Case(
        group(
            hub(),
            worker("w1", signalled("w1", at=NOW + 60 * MINUTE - 5 * SECOND), clock_skew_ns=60 * MINUTE),
            worker("w2", signalled("w2", at=NOW - SECOND)),
        ),
        ("w1", NOW),
    ),
    "85 an opening in the future never makes the wait longer than the timeout": Case(
        group(
            hub(openings=recorded("w1", NOW + 60 * MINUTE)),
            worker("w1", opened("w1", at=NOW + 60 * MINUTE)),
            worker("w2", signalled("w2", at=EARLY)),
        ),
        ("wait", T),
    ),
    "86 a replica without our gate is never chosen": Case(
        group(
            hub(),
            worker("w1", signalled("w1", at=EARLY, has_gate=False)),
            worker("w2", signalled("w2", at=LATE)),
        ),
        ("w2", NOW),
    ),
    "86 another closed gate sorts a replica behind the others": Case(
        group(
            hub(),
            worker("w1", signalled("w1", at=EARLY, other_gate_closed=True)),
            worker("w2", signalled("w2", at=LATE)),
        ),
        ("w2", NOW),
    ),
    "88 a reverted gate opens again and its window keeps its start": Case(
        group(
            hub(openings=recorded("w1", NOW - MINUTE)),
            worker("w1", signalled("w1", at=NOW - 2 * MINUTE), opening_confirmed=True),
            worker("w2", signalled("w2", at=NOW - 3 * MINUTE)),
        ),
        ("w1", NOW - MINUTE),
    ),
    "88 a copy made again where a gate was opened by hand waits for the window of another cluster": Case(
        group(
            hub(openings=(*recorded("w1", NOW - MINUTE), Opening(W2, ReplicaUID("before"), NOW - MINUTE))),
            worker("w1", opened("w1", at=NOW - MINUTE)),
            worker("w2", signalled("w2", at=NOW)),
        ),
        ("wait", T - MINUTE),
    ),
    "89 reserved quota on one worker holds the gates of the others": Case(
        group(hub(), worker("w1", replica("w1", condition("QuotaReserved"))), worker("w2", signalled("w2", at=EARLY))),
        "hold",
    ),
    "89 unless the operator wants otherwise": Case(
        group(hub(), worker("w1", replica("w1", condition("QuotaReserved"))), worker("w2", signalled("w2", at=EARLY))),
        ("w2", NOW),
        Settings(hold_while_quota_reserved=False),
    ),
    "92 a timeout of 30s is kept": Case(
        group(hub(), worker("w1", opened("w1", at=NOW - 29 * SECOND)), worker("w2", signalled("w2", at=EARLY))),
        ("wait", SECOND),
        HALF_MINUTE,
    ),
    "92 and passes": Case(
        group(hub(), worker("w1", opened("w1", at=NOW - 30 * SECOND)), worker("w2", signalled("w2", at=EARLY))),
        ("w2", NOW),
        HALF_MINUTE,
    ),
    "a cluster no longer nominated keeps its window until it expires": Case(
        group(hub(openings=recorded("w1", NOW - MINUTE)), worker("w1"), worker("w2", signalled("w2", at=EARLY))),
        ("wait", T - MINUTE),
    ),
    "F13 a replica made again on the holding cluster waits while others ask": Case(
        group(
            hub(openings=(Opening(W1, ReplicaUID("old-uid"), NOW - MINUTE),)),
            worker("w1", signalled("w1", at=LATE)),
            worker("w2", signalled("w2", at=EARLY)),
        ),
        ("wait", T - MINUTE),
    ),
    "a replica made again on the holding cluster opens at once while no other worker asks, in its own window": Case(
        group(
            hub(openings=(Opening(W1, ReplicaUID("old-uid"), NOW - MINUTE),)),
            worker("w1", signalled("w1", at=LATE)),
            worker("w2", replica("w2")),
        ),
        ("w1", NOW),
    ),
    "a new attempt of the hub forgets openings whose replica is gone": Case(
        group(
            replace(
                hub(openings=(Opening(W1, ReplicaUID("old-uid"), NOW - 90 * MINUTE, ATTEMPT),)),
                conditions={"QuotaReserved": condition("QuotaReserved", at=NOW - SECOND)},
            ),
            worker("w1"),
            worker("w2", signalled("w2", at=EARLY)),
        ),
        ("w2", NOW),
        Settings(timeout_ns=120 * MINUTE),
    ),
    "a new attempt of the hub does not forget what an unreadable worker may still do": Case(
        group(
            replace(
                hub(openings=(Opening(W1, ReplicaUID("old-uid"), NOW - MINUTE, ATTEMPT),)),
                conditions={"QuotaReserved": condition("QuotaReserved", at=NOW - SECOND)},
            ),
            worker("w1", reach=Reach.LOST),
            worker("w2", signalled("w2", at=EARLY)),
        ),
        ("wait", T - MINUTE),
    ),
    "an operator's own opening counts": Case(
        group(hub(), worker("w1", opened("w1", at=NOW - MINUTE)), worker("w2", signalled("w2", at=EARLY))),
        ("wait", T - MINUTE),
    ),
}
