"""Acceptance scenarios 82 to 105, 117, 118, 121, 122: queues and cycles."""

import pytest

from engine.cycles.simulation import Victims
from tests.support.builders import ClusterQueueBuilder, cluster_queue, cohort, local_queue
from tests.unit.engine.acceptance import running
from tests.unit.engine.stories import Story, waiting

ADMIT, PREEMPT, NO_FIT, SKIPPED, GATED = "Admit", "Preempt", "NoFit", "Skipped", "Gated"
NO_CANDIDATES, INADMISSIBLE = "PreemptNoCandidates", "Inadmissible"
OWN, RECLAIM = "InClusterQueue", "InCohortReclamation"
OVERLAPPING = "Workload has overlapping preemption targets with another workload"
NO_LONGER_FITS = "Workload no longer fits after processing another workload"
GATE_ON = {"MultiKueueOrchestratedPreemption": True}


def alone(cpu: int, strategy: str = "BestEffortFIFO", within: str = "Never") -> ClusterQueueBuilder:
    return cluster_queue("A").quota("f", cpu=cpu).preemption(within=within).with_spec(queueingStrategy=strategy)


def queue(
    name: str, cpu: int, group: str = "pool", *, within: str = "Never", reclaim: str = "Never", borrow: str = "Never"
) -> ClusterQueueBuilder:
    built = cluster_queue(name).cohort(group).quota("f", cpu=cpu)
    return built.preemption(within=within, reclaim=reclaim, borrow=borrow)


BIG_AND_SMALL = waiting("big", "A", 3, created=1), waiting("small", "A", 1, created=2)
HIGH_HOLDER = running("u", "A", 1, 50), waiting("big", "A", 2, 10), waiting("small", "A", 1)
RESERVING = queue("B", 0), queue("C", 0), running("b1", "B", 3, 50), waiting("P", "A", 5, 50), waiting("Q", "C", 2)
SHARED_VICTIM = (
    queue("A", 2, reclaim="Any"),
    queue("B", 2, reclaim="Any"),
    queue("C", 0),
    running("v", "C", 4),
    waiting("P", "A", 2, 5),
    waiting("Q", "B", 2, 0),
)
NEEDS_ROOM = alone(4, within="LowerPriority"), running("v", "A", 4)

STORIES = {
    "82 a StrictFIFO head that does not fit blocks those behind it": Story(
        [alone(2, "StrictFIFO"), *BIG_AND_SMALL],
        [{"big": NO_FIT}, {"big": NO_FIT}, {"big": NO_FIT}],
        want_heap=["big", "small"],
        want_untouched=["small"],
    ),
    "83 a BestEffortFIFO head that does not fit is parked": Story(
        [alone(2), *BIG_AND_SMALL], [{"big": NO_FIT}, {"small": ADMIT}], want_heap=[], want_parked=["big"]
    ),
    "84 workloads of the shape that failed are parked unseen": Story(
        [alone(2), waiting("y", "A", 3, 1), waiting("x1", "A", 3, created=1), waiting("x2", "A", 3, created=2)],
        [{"y": NO_FIT}, {"x1": NO_FIT}],
        want_heap=[],
        want_parked=["x1", "x2", "y"],
        want_untouched=["x2"],
    ),
    "85 the smaller uid goes first": Story(
        [alone(1), waiting("w1", "A", 1).uid("z"), waiting("w2", "A", 1).uid("b")], [{"w2": ADMIT}]
    ),
    "86 equal entries of two ClusterQueues are decided by chance": Story(
        [queue("A", 0), queue("B", 0), queue("C", 4), waiting("w1", "A", 4), waiting("w2", "B", 4)],
        want_ambiguous=True,
    ),
    "87 who does not borrow goes first": Story(
        [queue("A", 4), queue("B", 0), waiting("w1", "A", 4), waiting("w2", "B", 4, 100)],
        [{"w1": ADMIT, "w2": SKIPPED}],
        want_order=["w1", "w2"],
    ),
    "88 who borrows from nearer goes first": Story(
        [
            cohort("l").parent("top"),
            cohort("r").parent("top"),
            queue("a", 0, "l"),
            queue("a2", 4, "l"),
            queue("b", 0, "r"),
            waiting("wa", "a", 4),
            waiting("wb", "b", 4, 100),
        ],
        [{"wa": ADMIT, "wb": SKIPPED}],
    ),
    "89 who cannot preempt keeps what is free": Story(
        [queue("A", 5, reclaim="LowerPriority"), *RESERVING],
        [{"P": NO_CANDIDATES, "Q": SKIPPED}],
        want_messages={"Q": NO_LONGER_FITS},
    ),
    "90 who preempts keeps what it needs": Story(
        [queue("A", 5, reclaim="Any"), *RESERVING],
        [{"P": PREEMPT, "Q": SKIPPED}],
        want_victims={"b1": RECLAIM},
        want_messages={"Q": NO_LONGER_FITS},
    ),
    "91 one victim serves one preemptor": Story(
        SHARED_VICTIM,
        [{"P": PREEMPT, "Q": SKIPPED}],
        want_victims={"v": RECLAIM},
        want_messages={"Q": OVERLAPPING},
    ),
    "92 looking again finds that the victim's room suffices for two": Story(
        SHARED_VICTIM,
        [{"P": PREEMPT, "Q": SKIPPED}],
        want_victims={"v": RECLAIM},
        want_messages={"Q": f"{OVERLAPPING}, but will fit after these preemptions complete"},
        gates={"RecomputeAssignmentUponPreemptionTargetsOverlap": True},
    ),
    "93 preemptors with victims of their own do not disturb each other": Story(
        [
            queue("A", 2, within="LowerPriority"),
            queue("B", 2, within="LowerPriority"),
            running("va", "A", 2),
            running("vb", "B", 2),
            waiting("P", "A", 2, 10),
            waiting("Q", "B", 2, 10),
        ],
        [{"P": PREEMPT, "Q": PREEMPT}],
        want_victims={"va": OWN, "vb": OWN},
    ),
    "94 what a victim leaves beyond the preemptor's need is used in the same cycle": Story(
        [
            queue("A", 8, within="LowerPriority"),
            queue("B", 2),
            running("v", "A", 8),
            waiting("P", "A", 3, 10),
            waiting("Q", "B", 2),
        ],
        [{"P": PREEMPT, "Q": ADMIT}],
        want_victims={"v": OWN},
    ),
    "95 a reservation can be negative": Story(
        [
            queue("A", 2, within="LowerPriority", reclaim="LowerPriority", borrow="LowerPriority").borrowing_limit(
                "f", cpu=1
            ),
            queue("B", 8, within="LowerPriority", reclaim="LowerPriority"),
            running("u", "A", 5, 100),
            waiting("P", "A", 3),
            waiting("Q", "B", 5),
        ],
        [{"P": NO_CANDIDATES, "Q": ADMIT}],
    ),
    "96 StrictFIFO: a head without candidates blocks those behind it": Story(
        [alone(2, "StrictFIFO", "LowerPriority"), *HIGH_HOLDER],
        [{"big": NO_CANDIDATES}, {"big": NO_CANDIDATES}],
        want_heap=["big", "small"],
    ),
    "97 BestEffortFIFO: a head without candidates is parked": Story(
        [alone(2, within="LowerPriority"), *HIGH_HOLDER], [{"big": NO_CANDIDATES}, {"small": ADMIT}]
    ),
    "102 a closed gate stops the act of preempting": Story(
        [*NEEDS_ROOM, waiting("P", "A", 4, 10).gates("g1")],
        [{"P": GATED}],
        want_messages={"P": "Workload requires preemption, but it's gated"},
        want_heap=[],
        want_parked=["P"],
        gates=GATE_ON,
    ),
    "103 gates mean nothing while the feature is off": Story(
        [*NEEDS_ROOM, waiting("P", "A", 4, 10).gates("g1")], [{"P": PREEMPT}], want_victims={"v": OWN}
    ),
    "104 a ClusterQueue without namespaceSelector takes no workload": Story(
        [alone(2).with_spec(namespaceSelector=None), waiting("P", "A", 1)],
        [{"P": INADMISSIBLE}],
        want_messages={"P": "workload namespace doesn't match ClusterQueue selector"},
        want_parked=["P"],
    ),
    "105 a workload gated by annotation is not queued": Story(
        [alone(2), waiting("P", "A", 1).annotate("kueue.x-k8s.io/admission-gated-by", "x")],
        want_heap=[],
        want_parked=[],
    ),
    "106 a stopped LocalQueue takes its workloads out of the queues": Story(
        [alone(2), local_queue("L", "A", stop="Hold"), waiting("P", "L", 1)],
        want_heap=[],
        want_parked=[],
        want_messages={"P": "LocalQueue L is inactive"},
    ),
    "117 fair sharing: the lower share goes first": Story(
        [
            queue("A", 0, reclaim="Any"),
            queue("B", 0, reclaim="Any"),
            queue("C", 6),
            running("a", "A", 2),
            waiting("P", "A", 4, 100),
            waiting("Q", "B", 4),
        ],
        [{"P": SKIPPED, "Q": ADMIT}],
        want_order=["Q", "P"],
        fair=[],
    ),
    "118 fair sharing: who does not borrow goes first": Story(
        [queue("A", 4), queue("B", 0), waiting("P", "A", 4), waiting("Q", "B", 1, 100)],
        [{"P": ADMIT, "Q": SKIPPED}],
        want_order=["P", "Q"],
        fair=[],
    ),
    "121 fair sharing: equal entries are decided by chance": Story(
        [queue("A", 0), queue("B", 0), queue("C", 4), waiting("w1", "A", 4), waiting("w2", "B", 4)],
        want_ambiguous=True,
        fair=[],
    ),
    "122 fair sharing: equal shares of sibling cohorts are decided by chance": Story(
        [
            cohort("l").parent("top"),
            cohort("r").parent("top"),
            cohort("own").parent("top"),
            queue("A", 2, "own", reclaim="Any"),
            queue("B", 0, "l"),
            queue("C", 0, "r"),
            queue("D", 4, "top"),
            running("b", "B", 3),
            running("c", "C", 3),
            waiting("P", "A", 2),
        ],
        want_ambiguous=True,
        fair=[],
    ),
    "KEP-8303 an open gate lets it preempt": Story(
        [*NEEDS_ROOM, waiting("P", "A", 4, 10).gates("g1", open_gates=["g1"])],
        [{"P": PREEMPT}],
        want_victims={"v": OWN},
        gates=GATE_ON,
    ),
    "KEP-8303 one of two gates closed is closed": Story(
        [*NEEDS_ROOM, waiting("P", "A", 4, 10).gates("g1", "g2", open_gates=["g1"])], [{"P": GATED}], gates=GATE_ON
    ),
    "KEP-8303 a closed gate does not keep from fitting": Story(
        [alone(4), waiting("P", "A", 4).gates("g1")], [{"P": ADMIT}], gates=GATE_ON
    ),
    "KEP-8303 behind a gated StrictFIFO head nothing is tried": Story(
        [
            alone(4, "StrictFIFO", "LowerPriority"),
            running("v", "A", 3),
            waiting("P", "A", 4, 10).gates("g1"),
            waiting("small", "A", 1),
        ],
        [{"P": GATED}, {"P": GATED}],
        gates=GATE_ON,
        want_heap=["P", "small"],
    ),
    "KEP-8303 behind a gated BestEffortFIFO head the next one is tried": Story(
        [
            alone(4, within="LowerPriority"),
            running("v", "A", 3),
            waiting("P", "A", 4, 10).gates("g1"),
            waiting("small", "A", 1),
        ],
        [{"P": GATED}, {"small": ADMIT}],
        gates=GATE_ON,
    ),
    "50 a skipped workload goes on at the next flavor": Story(
        [
            cluster_queue("A").cohort("pool").quota("f", cpu=0).quota("g", cpu=0),
            cluster_queue("B").cohort("pool").quota("f", cpu=0).quota("g", cpu=0),
            cluster_queue("C").cohort("pool").quota("f", cpu=4).quota("g", cpu=4),
            waiting("w1", "A", 4, 10),
            waiting("w2", "B", 4),
        ],
        [{"w1": ADMIT, "w2": SKIPPED}, {"w2": ADMIT}],
    ),
    "70 a victim that is evicted already is not evicted again": Story(
        [
            alone(4, within="LowerPriority"),
            running("v1", "A", 2, 3).evicted(),
            running("v2", "A", 2),
            waiting("P", "A", 2, 10),
        ],
        [{"P": PREEMPT}, {"P": PREEMPT}],
        want_messages={"P": "Pending the preemption of 1 workload(s)"},
    ),
    "39 pods do not count in the search for victims": Story(
        [
            cluster_queue("A").quota("f", {"cpu": 100, "pods": 2}).preemption(within="LowerPriority"),
            running("v1", "A", 1).with_usage(pods=1),
            running("v2", "A", 1).with_usage(pods=1),
            waiting("P", "A", 1, 10).pods(2),
        ],
        [{"P": SKIPPED}, {"P": SKIPPED}],
        want_messages={"P": NO_LONGER_FITS},
    ),
    "victims that are gone let the preemptor in": Story(
        [*NEEDS_ROOM, waiting("P", "A", 4, 10)],
        [{"P": PREEMPT}, {"P": ADMIT}, {"v": NO_CANDIDATES}],
        want_victims={"v": OWN},
        victims=Victims.RELEASED,
    ),
}


@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES.keys())
def test_story(story: Story) -> None:
    story.check()
