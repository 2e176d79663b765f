"""Acceptance scenarios as data: objects, who is pending, and every answer that may be given, by mode."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from config.api.meta import ObjectKey
from engine.pods.predict import predict_group, predict_pod
from engine.pods.state.model import PodModel
from engine.pods.values.answer import PodCycleOutcome, PodForecast
from engine.pods.values.values import SchedulerMode
from tests.support.builders import Json
from tests.support.pod_builders import NAMESPACE

EVERY_MODE = (SchedulerMode.V1_37, SchedulerMode.V1_36, SchedulerMode.KEP)


@dataclass(frozen=True)
class Scenario:
    """One situation; `want` gives the answers for all modes, `per_mode` those of modes that differ.

    An answer is written `result: victims @ nodes`, victims and nodes sorted and separated by blanks, such as
    `preempting: a b @ n1`. A code in brackets stands for the reason: `unschedulable (PolicyNever)`.
    """

    objects: Sequence[Json]
    want: Sequence[str] = ()
    per_mode: Mapping[SchedulerMode, Sequence[str]] = field(default_factory=dict)
    asked: str = "p"
    is_group: bool = False
    modes: Sequence[SchedulerMode] = EVERY_MODE


def forecast(scenario: Scenario, mode: SchedulerMode, *, explain: bool = False) -> PodForecast:
    """Answer a scenario."""
    model = PodModel.of(scenario.objects)
    assert list(model.dangling()) == []
    predict = predict_group if scenario.is_group else predict_pod
    return predict(model, ObjectKey(NAMESPACE, scenario.asked), mode, explain=explain)


def answers(found: PodForecast) -> list[str]:
    """Write the outcomes of a forecast as scenarios do, sorted."""
    return sorted(map(written, found.outcomes))


def written(outcome: PodCycleOutcome) -> str:
    """Write one outcome."""
    text = str(outcome.result)
    if outcome.reason is not None and not outcome.victims:
        text += f" ({outcome.reason.code})"
    if outcome.victims:
        text += f": {' '.join(key.name for key in outcome.victims)}"
    places = {**outcome.nominated, **outcome.bound}
    if places:
        text += f" @ {' '.join(sorted(places.values()))}"
    return text


def wanted(scenario: Scenario, mode: SchedulerMode) -> list[str]:
    """Return what the scenario wants of a mode."""
    return sorted(scenario.per_mode.get(mode, scenario.want))


def cases(scenarios: Mapping[str, Scenario]) -> list[tuple[str, SchedulerMode]]:
    """Return every scenario with every mode that it speaks of."""
    return [(name, mode) for name, scenario in scenarios.items() for mode in scenario.modes]


def case_ids(found: Sequence[tuple[str, SchedulerMode]]) -> list[str]:
    """Name the cases for test reports."""
    return [f"{name} [{mode}]" for name, mode in found]
