"""Acceptance scenarios as data: objects, who is pending, and every answer that may be given, by mode."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from config.api.meta import ObjectKey
from engine.pods.answer import Forecast, Outcome
from engine.pods.model import PodModel
from engine.pods.predict import predict_group, predict_pod
from engine.pods.values import Mode
from tests.builders import Json
from tests.pod_builders import NAMESPACE

EVERY_MODE = (Mode.V1_37, Mode.V1_36, Mode.KEP)


@dataclass(frozen=True)
class Scenario:
    """One situation; `want` gives the answers for all modes, `per_mode` those of modes that differ.

    An answer is written `result: victims @ nodes`, victims and nodes sorted and separated by blanks, such as
    `preempting: a b @ n1`. A code in brackets stands for the reason: `unschedulable (PolicyNever)`.
    """

    objects: Sequence[Json]
    want: Sequence[str] = ()
    per_mode: Mapping[Mode, Sequence[str]] = field(default_factory=dict)
    asked: str = "p"
    is_group: bool = False
    modes: Sequence[Mode] = EVERY_MODE


def forecast(scenario: Scenario, mode: Mode, *, explain: bool = False) -> Forecast:
    """Answer a scenario."""
    model = PodModel.of(scenario.objects)
    assert list(model.dangling()) == []
    predict = predict_group if scenario.is_group else predict_pod
    return predict(model, ObjectKey(NAMESPACE, scenario.asked), mode, explain=explain)


def answers(found: Forecast) -> list[str]:
    """Write the outcomes of a forecast as scenarios do, sorted."""
    return sorted(map(written, found.outcomes))


def written(outcome: Outcome) -> str:
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


def wanted(scenario: Scenario, mode: Mode) -> list[str]:
    """Return what the scenario wants of a mode."""
    return sorted(scenario.per_mode.get(mode, scenario.want))


def cases(scenarios: Mapping[str, Scenario]) -> list[tuple[str, Mode]]:
    """Return every scenario with every mode that it speaks of."""
    return [(name, mode) for name, scenario in scenarios.items() for mode in scenario.modes]


def case_ids(found: Sequence[tuple[str, Mode]]) -> list[str]:
    """Name the cases for test reports."""
    return [f"{name} [{mode}]" for name, mode in found]
