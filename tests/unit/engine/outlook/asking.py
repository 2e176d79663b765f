"""Asks what the scheduler of pods would do with pod sets."""

from collections.abc import Sequence
from typing import Any

from config.api.meta import ObjectKey, parse_time
from engine.placement.suitability import FlavorPlacement
from engine.pod_outlook.arrivals import AssignedPods, arriving_pods
from engine.pod_outlook.outlook import pod_outlook
from engine.pod_outlook.values import PodOutlook
from engine.pods.state.model import PodModel
from engine.pods.values.values import SchedulerMode
from tests.support.builders import Json, at
from tests.support.pod_builders import NAMESPACE

NOW = parse_time(at(60))


KEY = ObjectKey(NAMESPACE, "wl")


def pod_set(name: str = "main", cpu: int = 4, priority: int = 10, **spec: Any) -> Json:
    container = {"name": "c", "resources": {"requests": {"cpu": cpu}}}
    return {"name": name, "template": {"spec": {"priority": priority, "containers": [container], **spec}}}


def ask(
    objects: Sequence[Json],
    sets: Sequence[Json],
    counts: Sequence[int],
    *,
    leaving: Sequence[str] = (),
    mode: SchedulerMode = SchedulerMode.V1_36,
    flavors: tuple[FlavorPlacement, ...] = (),
) -> PodOutlook:
    model = PodModel.of(objects)
    assigned = [AssignedPods(each["name"], count, flavors) for each, count in zip(sets, counts, strict=True)]
    arriving = arriving_pods(model, KEY, sets, assigned, NOW)
    return pod_outlook(model, arriving, mode, NOW, [ObjectKey(NAMESPACE, name) for name in leaving])
