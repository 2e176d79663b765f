"""On real API servers with real kube-schedulers: what was forecast from the served objects is what really happens.

Each situation is looked at by a scheduler; where it evicts, the kubelet's part is played and the next cycle is forecast
and looked at, too. A scheduler that starts meets the pods before or after their group, and takes those that came before
in no order; so all orders of arrival are forecast.

Repeat a failing run with TURNSTILE_DIFFERENTIAL_SEED=<the seed it printed>; widen one with
TURNSTILE_BED_COUNT=<situations per release>.
"""

import os
import secrets
from collections.abc import Iterator
from itertools import permutations

import pytest

from config.api.meta import ObjectKey
from engine.pods.predict import predict_group, predict_pod
from engine.pods.state.model import PodModel
from engine.pods.values.answer import PodCycleOutcome, PodCycleResult, PodForecast
from engine.pods.values.values import SchedulerMode
from tests.conformance.servers import is_continuous_integration
from tests.differential.dice import dice
from tests.realbed import scheduler_bed
from tests.realbed.build import ToolchainError, install_go
from tests.realbed.processes import ProcessGroup
from tests.realbed.scheduled_situation import Stage
from tests.realbed.scheduler_build import RELEASES
from tests.scheduler.comparison import answer
from tests.support.builders import Json
from tests.support.pod_situations import PENDING_GROUP, PENDING_POD, Situation, random_situation

pytestmark = pytest.mark.real
_SEED, _COUNT = "TURNSTILE_DIFFERENTIAL_SEED", "TURNSTILE_BED_COUNT"
_LOOK_SECONDS = 120.0
_NOTHING = {PodCycleResult.GATED, PodCycleResult.ERROR, PodCycleResult.UNSCHEDULABLE}


@pytest.fixture(scope="module", params=list(RELEASES))
def bed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator["Bed"]:
    """Run the API server of a release."""
    directory = tmp_path_factory.mktemp(f"scheduler-{request.param}")
    try:
        if is_continuous_integration():
            install_go()
        with ProcessGroup(directory / "logs") as processes:
            plane = scheduler_bed.start(processes, directory, RELEASES[request.param])
            yield Bed(plane)
            plane.close()
    except ToolchainError as error:
        if is_continuous_integration():
            raise
        pytest.skip(f"no real kube-scheduler to look: {error}")


class Bed:
    """A control plane and the situation on it."""

    def __init__(self, plane: scheduler_bed.ControlPlane) -> None:
        self._plane = plane
        self.release = plane.release.minor
        self.stage = Stage(plane)
        self.stage.prepare()

    def disagreement(self, situation: Situation) -> str | None:
        """Return what one or two cycles did otherwise than forecast."""
        for cycle in (1, 2):
            before = self.stage.objects()
            outcomes = self._forecast(before, situation)
            if _goes_on_at_once(outcomes, before):
                return self._disagreement_of_parts(before, situation)
            self._look(before, is_gated=outcomes[0].result is PodCycleResult.GATED)
            seen = self.stage.outcome(before)
            is_open = _is_order_open(situation)
            listed = answer(map(_as_seen, outcomes), self.release, is_order_open=is_open)
            if not answer([_with_result(seen)], self.release, is_order_open=is_open) <= listed:
                return f"cycle {cycle}: seen {seen}, listed {sorted(listed)}"
            if not seen["victims"]:
                return None
            self.stage.end_terminating_pods()
            self.stage.forget_verdicts()
        return None

    def _disagreement_of_parts(self, before: list[Json], situation: Situation) -> str | None:
        """Return what was done otherwise to a group of which part may be bound.

        The rest has its next cycle at once, and the scheduler is stopped at a moment of chance: what is seen may be of
        one cycle or of several. The first look is judged, and no further one: it would not be known what it follows.
        """
        self._look(before, is_gated=False)
        seen = self.stage.outcome(before)
        is_open = _is_order_open(situation)
        listed = answer(self._after_each_cycle(before, situation), self.release, is_order_open=is_open)
        if answer([_with_result(seen)], self.release, is_order_open=is_open) <= listed:
            return None
        return f"part of a group: seen {seen}, listed {sorted(listed)}"

    def _after_each_cycle(self, objects: list[Json], situation: Situation) -> Iterator[Json]:
        waiting = sum(map(_is_pending, objects))
        for outcome in self._forecast(objects, situation):
            seen = _as_seen(outcome)
            yield seen
            if outcome.bound and len(outcome.bound) < waiting:
                bound = [_bound_by(outcome, raw) for raw in objects]
                yield from (_together(seen, later) for later in self._after_each_cycle(bound, situation))

    def _forecast(self, objects: list[Json], situation: Situation) -> list[PodCycleOutcome]:
        pending = [raw for raw in objects if _is_pending(raw)]
        others = [raw for raw in objects if not _is_pending(raw)]
        found: dict[object, PodCycleOutcome] = {}
        for order in permutations(pending):
            model = PodModel.of([*others, *order])
            for outcome in self._ask(model, situation).outcomes:
                found.setdefault(outcome.identity, outcome)
        return list(found.values())

    def _ask(self, model: PodModel, situation: Situation) -> PodForecast:
        if situation.asks_for_group:
            return predict_group(model, ObjectKey("default", PENDING_GROUP), SchedulerMode(self.release))
        return predict_pod(model, ObjectKey("default", PENDING_POD), SchedulerMode(self.release))

    def _look(self, before: list[Json], *, is_gated: bool) -> None:
        scheduler = self._plane.start_scheduler()
        scheduler.wait_until(
            lambda: self.stage.has_marker_verdict() and (is_gated or self.stage.has_verdicts(before)),
            seconds=_LOOK_SECONDS,
        )
        scheduler.stop()


def _is_pending(raw: Json) -> bool:
    return bool(raw["kind"] == "Pod" and not raw["spec"].get("nodeName"))


def _goes_on_at_once(outcomes: list[PodCycleOutcome], objects: list[Json]) -> bool:
    """Return whether part of a group may be bound: the rest has its next cycle at once, which would be seen as one."""
    waiting = sum(map(_is_pending, objects))
    return any(outcome.bound and len(outcome.bound) < waiting for outcome in outcomes)


def _bound_by(outcome: PodCycleOutcome, raw: Json) -> Json:
    place = outcome.bound.get(ObjectKey(raw["metadata"].get("namespace", ""), raw["metadata"]["name"]))
    return {**raw, "spec": {**raw["spec"], "nodeName": place}} if raw["kind"] == "Pod" and place else raw


def _together(first: Json, later: Json) -> Json:
    """Return what is seen of two cycles; hopes are not looked at where pods are bound."""
    victims, bound = [*first["victims"], *later["victims"]], {**first["bound"], **later["bound"]}
    return _with_result({"victims": victims, "bound": bound, "nominated": {}})


def _as_seen(outcome: PodCycleOutcome) -> Json:
    return {
        "result": "nothing" if outcome.result in _NOTHING else outcome.result,
        "victims": [_written(key) for key in outcome.victims],
        "nominated": {_written(key): node for key, node in outcome.nominated.items()},
        "bound": {_written(key): node for key, node in outcome.bound.items()},
    }


def _written(key: ObjectKey) -> str:
    return f"{key.namespace}/{key.name}"


def _with_result(seen: Json) -> Json:
    result = "preempting" if seen["victims"] else "scheduled" if seen["bound"] else "waiting"
    return {**seen, "result": result if seen["victims"] or seen["bound"] or seen["nominated"] else "nothing"}


def test_forecast_is_what_is_really_evicted(bed: Bed) -> None:
    first_seed = int(os.environ.get(_SEED) or secrets.randbits(48))
    found = []
    for number in range(int(os.environ.get(_COUNT) or 50)):
        situation = random_situation(dice("plain", first_seed + number))
        bed.stage.set_up(situation)
        difference = bed.disagreement(situation)
        bed.stage.tear_down()
        if difference:
            found.append(f"plain/{first_seed + number}: {difference}")
    assert not found, f"{len(found)} disagree, {_SEED}={first_seed}\n" + "\n".join(found[:10])


def _is_order_open(situation: Situation) -> bool:
    """Return whether the scheduler takes members as they come: none waits until all of a group are there."""
    asked = situation.as_input["preemptor"]
    if asked["kind"] != "PodGroup":
        return False
    groups = {group["metadata"]["name"]: group for group in situation.as_input["podGroups"]}
    policy = groups[asked["name"]]["spec"]["schedulingPolicy"]
    return "basic" in policy or policy["gang"]["minCount"] < sum(map(_is_pending, situation.as_input["pods"]))
