"""Situations thought out by hand, each about one rule; the name says which."""

from engine.cycles.simulation import Victims
from tests.realbed.cycles.situations import Job, Round, Situation
from tests.support.builders import cluster_queue, cohort, flavor

_PLAIN = cluster_queue("a").quota("f", cpu=2)
_ASSERTIVE = _PLAIN.preemption(within="LowerPriority")
_STOP = Round(victims_stop=True)


def _cpu(name: str, cpu: int, priority: int = 0, queue: str = "a", **more: object) -> Job:
    return Job(name, queue, {"cpu": cpu}, priority, **more)  # type: ignore[arg-type]


HANDMADE = (
    Situation("everything fits", [_PLAIN], [Round([_cpu("one", 1), _cpu("two", 1)])]),
    Situation(
        "the higher priority preempts the lowest in its queue",
        [_ASSERTIVE],
        [Round([_cpu("low", 1), _cpu("middle", 1, 50)]), Round([_cpu("high", 1, 100)]), _STOP],
    ),
    Situation(
        "a victim that stops at once makes room at once",
        [_ASSERTIVE],
        [Round([_cpu("low", 2)]), Round([_cpu("high", 2, 100)])],
        Victims.RELEASED,
    ),
    Situation(
        "a head that does not fit blocks a StrictFIFO queue",
        [_PLAIN.with_spec(queueingStrategy="StrictFIFO")],
        [Round([_cpu("running", 1), _cpu("big", 2), _cpu("small", 1)])],
    ),
    Situation(
        "others pass a head that does not fit in a BestEffortFIFO queue",
        [_PLAIN],
        [Round([_cpu("running", 1), _cpu("big", 2), _cpu("small", 1)])],
    ),
    Situation("a job larger than the queue never fits", [_PLAIN], [Round([_cpu("huge", 3), _cpu("small", 1)])]),
    Situation(
        "a queue takes back what it lent",
        [
            cluster_queue("a").cohort("c").quota("f", cpu=2).preemption(reclaim="Any"),
            cluster_queue("b").cohort("c").quota("f", cpu=2),
        ],
        [Round([_cpu(f"borrower-{n}", 1, queue="b") for n in range(4)]), Round([_cpu("owner", 2)]), _STOP],
    ),
    Situation(
        "a queue that may preempt while it borrows does so below the threshold alone",
        [
            cluster_queue("a")
            .cohort("c")
            .quota("f", cpu=1)
            .preemption(within="LowerPriority", reclaim="LowerPriority", borrow="LowerPriority", threshold=10),
            cluster_queue("b").cohort("c").quota("f", cpu=0),
            cluster_queue("d").cohort("c").quota("f", cpu=2),
        ],
        [
            Round([_cpu("below", 1, 5, "b"), _cpu("also-below", 1, 6, "b"), _cpu("above", 1, 20, "d")]),
            Round([_cpu("high", 2, 100)]),
            _STOP,
        ],
    ),
    Situation(
        "lent quota has a limit",
        [
            cluster_queue("a").cohort("c").quota("f", cpu=3).lending_limit("f", cpu=1),
            cluster_queue("b").cohort("c").quota("f", cpu=1).borrowing_limit("f", cpu=2),
        ],
        [Round([_cpu("two", 2, queue="b"), _cpu("third", 1, queue="b"), _cpu("own", 3)])],
    ),
    Situation(
        "the search for a flavor stops where preemption is possible",
        [_ASSERTIVE.quota("g", cpu=2).fungibility(preempt="MayStopSearch")],
        [Round([_cpu("low", 2)]), Round([_cpu("high", 2, 100)]), _STOP],
    ),
    Situation(
        "the search for a flavor goes on where preemption would be needed",
        [_ASSERTIVE.quota("g", cpu=2).fungibility(preempt="TryNextFlavor")],
        [Round([_cpu("low", 2)]), Round([_cpu("high", 2, 100)]), _STOP],
    ),
    Situation(
        "the search goes on where quota would be borrowed",
        [
            cluster_queue("a").cohort("c").quota("f", cpu=1).quota("g", cpu=2).fungibility(borrow="TryNextFlavor"),
            cluster_queue("b").cohort("c").quota("f", cpu=2),
        ],
        [Round([_cpu("first", 1), _cpu("second", 2), _cpu("third", 2)])],
    ),
    Situation(
        "a tainted flavor is passed over",
        [flavor("f").taint("reserved", "yes"), cluster_queue("a").quota("f", cpu=2).quota("g", cpu=1)],
        [Round([_cpu("one", 1), _cpu("two", 1)])],
    ),
    Situation(
        "a closed gate holds preemption back, and its opening lets it happen",
        [_ASSERTIVE],
        [Round([_cpu("low", 2)]), Round([_cpu("gated", 2, 100, is_gated=True)]), Round(opens=["gated"]), _STOP],
    ),
    Situation(
        "a closed gate does not hold back what fits",
        [_ASSERTIVE],
        [Round([_cpu("gated", 2, 100, is_gated=True)])],
    ),
    Situation(
        "fewer pods are enough",
        [_PLAIN],
        [Round([_cpu("running", 1), Job("partial", pods=3, at_least=1)])],
    ),
    Situation(
        "a boost of priority preempts an equal",
        [_ASSERTIVE],
        [Round([_cpu("first", 2)]), Round([_cpu("boosted", 2, boost=10)]), _STOP],
    ),
    Situation(
        "two queues want the same victim",
        [
            cluster_queue("a").cohort("c").quota("f", cpu=1).preemption(reclaim="Any"),
            cluster_queue("b").cohort("c").quota("f", cpu=1).preemption(reclaim="Any"),
            cluster_queue("d").cohort("c").quota("f", cpu=0),
        ],
        [
            Round([_cpu("borrower", 2, queue="d")]),
            Round([_cpu("owner-a", 1), _cpu("owner-b", 1, queue="b")]),
            _STOP,
        ],
    ),
    Situation(
        "quota of a cohort above is shared by its children",
        [
            cohort("root").quota("f", cpu=2),
            cohort("left").parent("root"),
            cohort("right").parent("root"),
            cluster_queue("a").cohort("left").quota("f", cpu=1).preemption(reclaim="LowerPriority"),
            cluster_queue("b").cohort("right").quota("f", cpu=0).preemption(reclaim="LowerPriority"),
        ],
        [
            Round([_cpu("guest", 2, queue="b"), _cpu("own", 1)]),
            Round([_cpu("more", 1, 10), _cpu("most", 3, 20)]),
            _STOP,
        ],
    ),
    Situation(
        "newer equals give way to older ones",
        [_PLAIN.preemption(within="LowerOrNewerEqualPriority").with_spec(queueingStrategy="StrictFIFO")],
        [Round([_cpu("older-big", 3), _cpu("newer", 2)]), Round([_cpu("newest", 1), _cpu("urgent", 2, 1)]), _STOP],
    ),
)

_SHARING = cluster_queue("a").cohort("c").quota("f", cpu=1).preemption(within="LowerPriority", reclaim="Any")
_SHARES = [
    _SHARING,
    cluster_queue("b").cohort("c").quota("f", cpu=1).preemption(within="LowerPriority", reclaim="Any"),
    cluster_queue("d").cohort("c").quota("f", cpu=4),
]

FAIR = (
    Situation(
        "borrowed quota is shared evenly",
        _SHARES,
        [
            Round([_cpu(f"greedy-{n}", 1, queue="b") for n in range(6)]),
            Round([_cpu(f"late-{n}", 1) for n in range(4)]),
            _STOP,
            _STOP,
            _STOP,
        ],
    ),
    Situation(
        "a queue of twice the weight gets twice as much",
        [_SHARING.weight(2), *_SHARES[1:]],
        [
            Round([_cpu(f"greedy-{n}", 1, queue="b") for n in range(6)]),
            Round([_cpu(f"late-{n}", 1) for n in range(5)]),
            _STOP,
            _STOP,
            _STOP,
        ],
    ),
    Situation(
        "victims that stop at once give way one after the other",
        _SHARES,
        [
            Round([_cpu(f"greedy-{n}", 1, queue="b") for n in range(6)]),
            Round([_cpu(f"late-{n}", 1) for n in range(4)]),
        ],
        Victims.RELEASED,
    ),
)
"""Situations for a Kueue with fair sharing."""
