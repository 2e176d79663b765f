"""Situations drawn at random, the same for the same seed: full queues, and jobs that need another one's place."""

from engine.cycles.simulation import Victims
from tests.differential.dice import Dice, dice
from tests.realbed.cycles.situations import Job, Round, Situation
from tests.support.builders import Builder, ClusterQueueBuilder, cluster_queue, cohort

_PRIORITIES = {0: 3, 10: 2, 50: 2, 100: 1}


def drawn(seed: int, *, is_fair: bool = False) -> Situation:
    """Return the situation of a seed; with fair sharing queues have weights, and there is always a cohort."""
    draw = dice("fair" if is_fair else "cycles", seed)
    names = "abc"[: draw.weighted({1: 1, 2: 3, 3: 3})]
    resources = ["cpu", "memory"] if draw.chance(0.3) else ["cpu"]
    flavors = ["f", "g"][: draw.weighted({1: 2, 2: 2})]
    builders = _cohorts(draw, flavors) if is_fair or draw.chance(0.85) else []
    queues = [_queue(draw, name, builders, flavors, resources) for name in names]
    if is_fair:
        queues = [queue.weight(draw.choice(["1", "2", "500m"])) for queue in queues]
    running = [_job(draw, f"running-{n}", names, resources) for n in range(draw.randint(2, 4))]
    arriving = [_arriving(draw, n, names, resources) for n in range(draw.randint(2, 4))]
    opens = [job.name for job in arriving if job.is_gated and draw.chance(0.7)]
    rounds = [Round(running), Round(arriving), Round(victims_stop=True, opens=opens), Round(victims_stop=True)]
    victims = draw.weighted({Victims.TERMINATING: 3, Victims.RELEASED: 1})
    return Situation(f"drawn {seed}", [*builders, *queues], rounds, victims)


def _cohorts(draw: Dice, flavors: list[str]) -> list[Builder]:
    root = cohort("root")
    if draw.chance(0.3):
        root = root.quota(draw.choice(flavors), cpu=draw.randint(1, 2))
    if draw.chance(0.6):
        return [root]
    return [root, cohort("left").parent("root"), cohort("right").parent("root")]


def _queue(
    draw: Dice, name: str, cohorts: list[Builder], flavors: list[str], resources: list[str]
) -> ClusterQueueBuilder:
    queue = cluster_queue(name).with_spec(queueingStrategy=draw.choice(["BestEffortFIFO", "StrictFIFO"]))
    for flavor in flavors:
        queue = queue.quota(flavor, {resource: draw.randint(1, 3) for resource in resources})
    if cohorts:
        queue = queue.cohort(draw.choice(cohorts).name)
        if draw.chance(0.2):
            queue = queue.borrowing_limit(flavors[0], cpu=draw.randint(0, 2))
        if draw.chance(0.2):
            queue = queue.lending_limit(flavors[0], cpu=0)
    if draw.chance(0.5):
        search = ["MayStopSearch", "TryNextFlavor"]
        queue = queue.fungibility(borrow=draw.choice(search), preempt=draw.choice(search))
    return _with_preemption(draw, queue)


def _with_preemption(draw: Dice, queue: ClusterQueueBuilder) -> ClusterQueueBuilder:
    reclaim = draw.weighted({"Any": 3, "LowerPriority": 3, "Never": 1})
    borrow = "Never" if reclaim == "Never" else draw.choice(["LowerPriority", "Never"])
    threshold = draw.choice([None, 10, 50]) if borrow == "LowerPriority" else None
    within = draw.weighted({"LowerPriority": 3, "LowerOrNewerEqualPriority": 2, "Never": 1})
    return queue.preemption(within=within, reclaim=reclaim, borrow=borrow, threshold=threshold)


def _job(draw: Dice, name: str, queues: str, resources: list[str]) -> Job:
    requests = {resource: draw.weighted({1: 3, 2: 2}) for resource in resources}
    return Job(name, draw.choice(queues), requests, draw.weighted(_PRIORITIES))


def _arriving(draw: Dice, number: int, queues: str, resources: list[str]) -> Job:
    requests = {resource: draw.weighted({1: 2, 2: 3, 3: 1}) for resource in resources}
    priority = draw.weighted({0: 1, 10: 1, 50: 2, 100: 3})
    name, queue = f"arriving-{number}", draw.choice(queues)
    kind = draw.weighted({"plain": 6, "gated": 2, "partial": 1, "boosted": 1})
    if kind == "partial":
        return Job(name, queue, dict.fromkeys(resources, 1), priority, pods=4, at_least=1)
    boost = draw.choice([-20, 20, 100]) if kind == "boosted" else None
    return Job(name, queue, requests, priority, boost=boost, is_gated=kind == "gated")
