"""Outlooks against chance: pods are scheduled one by one, in any order; free choices and ends of evicted pods come as
they like.

Whatever comes of it must have been listed. Nothing of at least the same priority is ever evicted, and asking leaves no
trace.
"""

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from config.api.meta import ObjectKey
from engine.pod_outlook.arrivals import AssignedPods, arriving_pods
from engine.pod_outlook.outlook import pod_outlook
from engine.pod_outlook.values import PodOutcome, PodOutlook, PodVerdict
from engine.pod_outlook.ways import bound_to
from engine.pods.predict import predict_pod
from engine.pods.state.model import PodModel
from engine.pods.values.answer import PodCycleResult
from engine.pods.values.values import PendingPod, SchedulerMode
from tests.support.builders import Json
from tests.support.pod_builders import budget, node, pod

NOW = 1_800_000_000_000_000_000
PRIORITY = 10


def situation(random: Random, most: Sequence[int]) -> tuple[PodModel, tuple[tuple[PendingPod, ...], ...]]:
    """Return a few full nodes, and pods that want to get in: as many sets as numbers, each of equal pods."""
    objects: list[Json] = [node(f"n{number}", random.choice([4, 6, 8])) for number in range(random.randint(1, 3))]
    objects += [pod for place in list(objects) for pod in _tenants(random, place)]
    if random.random() < 0.3:
        objects.append(budget("x", random.choice([0, 1])))
    model = PodModel.of(objects)
    names = [f"set{number}" for number in range(len(most))]
    assigned = [AssignedPods(name, random.randint(1, count)) for name, count in zip(names, most, strict=True)]
    sets = [{"name": name, "template": _template(random.randint(1, 4))} for name in names]
    return model, arriving_pods(model, ObjectKey("default", "wl"), sets, assigned, NOW)


def _template(cpu: int) -> Json:
    container = {"name": "c", "resources": {"requests": {"cpu": cpu}}}
    return {"spec": {"priority": PRIORITY, "containers": [container]}}


def _tenants(random: Random, place: Json) -> list[Json]:
    found: list[Json] = []
    free = int(place["status"]["allocatable"]["cpu"])
    name = place["metadata"]["name"]
    while free > 0 and random.random() < 0.9:
        cpu = min(free, random.randint(1, 4))
        free -= cpu
        age, app = random.choice([0, 0, 10]), random.choice(["", "x"])
        priority = random.choice([0, 1, 1, 5, PRIORITY, 20])
        found.append(pod(f"{name}-{len(found)}", cpu, priority, on=name, started=age, app=app))
    return found


def by_chance(
    model: PodModel, sets: tuple[tuple[PendingPod, ...], ...], mode: SchedulerMode, random: Random
) -> PodOutcome:
    """Schedule the pods as chance has it."""
    pods = [pod for each in sets for pod in each]
    random.shuffle(pods)
    world = model.fork()
    for each in pods:
        world.put_pod(each.key, each)
    queue, evicted, leaving = [each.key for each in pods], set[ObjectKey](), set[ObjectKey]()
    haste = random.choice([0, 0.3, 1])
    while queue or leaving:
        if leaving and (not queue or random.random() < haste):
            _end(world, leaving, pods, queue)
            random.shuffle(pods)
            continue
        key = queue.pop(0)
        outcome = random.choice(predict_pod(world, key, mode).outcomes)
        if outcome.result is PodCycleResult.SCHEDULED:
            world.put_pod(key, bound_to(world.pending[key], outcome.bound[key]))
        elif outcome.units:
            for victim in outcome.victims:
                target = world.bound_pod(victim)
                assert target is not None
                assert target.priority < PRIORITY
                world.put_pod(victim, replace(target, is_terminating=True, is_being_preempted=True))
            evicted.update(outcome.victims)
            leaving.update(outcome.victims)
            world.put_pod(key, replace(world.pending[key], nominated_node=outcome.nominated[key]))
    names = tuple(sorted(str(key) for key in evicted))
    return PodOutcome(names, not any(each.key in world.pending for each in pods))


def _end(world: PodModel, leaving: set[ObjectKey], pods: list[PendingPod], queue: list[ObjectKey]) -> None:
    for key in leaving:
        world.put_pod(key, None)
    leaving.clear()
    for each in pods:
        waiting = world.pending.get(each.key)
        if waiting is not None and waiting.nominated_node:
            world.put_pod(each.key, bound_to(waiting, waiting.nominated_node))
        elif waiting is not None and each.key not in queue:
            queue.append(each.key)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.randoms(use_true_random=False),
    st.sampled_from([SchedulerMode.V1_36, SchedulerMode.V1_37]),
    st.sampled_from([(4,), (10,), (3, 3), (2, 2, 2), (1, 8), (6, 6)]),
)
def test_whatever_happens_was_listed(random: Random, mode: SchedulerMode, most: tuple[int, ...]) -> None:
    model, sets = situation(random, most)
    before = {name: (tuple(state.pods), state.load.used[:]) for name, state in model.nodes.items()}
    found: PodOutlook = pod_outlook(model, sets, mode, NOW)
    assert {name: (tuple(state.pods), state.load.used[:]) for name, state in model.nodes.items()} == before
    assert not model.pending
    assert found.verdict is not PodVerdict.UNSUPPORTED
    assert all(victim.priority < PRIORITY for victim in found.victims)
    for _ in range(5 if found.is_complete else 0):
        assert by_chance(model, sets, mode, random) in found.outcomes
