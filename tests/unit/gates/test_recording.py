"""Everything that a decision depends on is written and read back exactly, and what is not understood is refused."""

from dataclasses import dataclass
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.api.identifiers import ReplicaUID
from config.api.meta import Condition
from engine.forecasting.forecast import Cost, Forecast, ForecastVerdict, ForecastVictim
from engine.forecasting.verification import Evicted, ForecastResult, Replay
from gates.model import actions as act
from gates.model.forecasts import ForecastRecord, Witness
from gates.model.hub_workload import Component, HubWorkload
from gates.model.job_plan import RemovedJob
from gates.model.openings import Opening, Steady, Winner
from gates.model.rules import Rule
from gates.model.settings import GatePolicy, Settings
from gates.model.view import OutOfSync, Replica, WorkerView, WorkloadView
from gates.reports.recording import RecordingError, dumps, loads
from gates.shadow.hindsight import PolicyOutcome, PreemptionCost
from tests.support.worker_names import W1, W2
from tests.unit.gates.groups import NOW, group, hub, signalled, worker

FORECAST = Forecast(
    ForecastVerdict.PREEMPTS,
    NOW,
    "m",
    "cq",
    (("cpu", "f"),),
    1,
    (ForecastVictim("n", "a", "u", "cq", "r"),),
    Cost(1, 2, 3),
)
RECORD = ForecastRecord(W1, ReplicaUID("u"), NOW, FORECAST, ForecastResult.WRONG, "m", NOW)
ACTIONS: tuple[act.Action, ...] = (
    act.RemoveRemote(W1, ReplicaUID("u"), (RemovedJob("batch/v1/Job", "j", "job-uid"),)),
    act.ProbeWorker(W1),
    act.CreateReplica(W1, gated=False),
    act.UpdateReplicaSpec(W1, ReplicaUID("u"), "3"),
    act.OpenGate(W1, ReplicaUID("u"), "3", NOW, not_after_ns=5),
    act.CloseGate(W1, ReplicaUID("u"), "3", NOW),
    act.DeactivateReplica(W1, ReplicaUID("u"), "m"),
    act.SyncJob(W1),
    act.RecordOpenings(
        (Opening(W1, ReplicaUID("u"), NOW, "a", Steady("c", 1), nudges=1, nudged=Steady("c", 2)),), RECORD
    ),
    act.PatchHubStatus(nominated=(W1,), finished=("R", "m"), requeue_after_seconds=3),
    act.StopHubJob(),
    act.StartRound(NOW),
    act.RecordWinner(Winner(W1, ReplicaUID("u"), NOW)),
    act.RecordOutOfSync(((W1, OutOfSync(1, ReplicaUID("u"))),)),
    act.RecordForecast(RECORD),
    act.EmitEvent("R", "m", warning=True),
)


WHOLE = st.integers()
TEXT = st.text(st.characters(exclude_categories=["Cs"]))


def again(kind: type, value: object) -> Any:
    return loads(kind, dumps(value))


def test_every_action_is_read_back() -> None:
    decision = act.Decision(
        Rule.GATE_OPENED, (act.Step(ACTIONS), act.Step(ACTIONS[:1], best_effort=True)), 5, ("note",)
    )
    assert again(act.Decision, decision) == decision
    assert {type(action) for action in ACTIONS} == set(act.Action.__args__)


def test_a_full_view_is_read_back() -> None:
    seen = Witness((("cpu", "f"),), (Evicted("n", "a", "u", "r"),), (Replay(FORECAST, "x"),))
    state = group(
        hub(
            forecast=RECORD, component=Component(complete=True, is_primary=False, sibling_clusters=frozenset({W1, W2}))
        ),
        worker("w1", signalled("w1", at=NOW), forecast=FORECAST, witness=seen, forecast_reliable=False),
        worker("w2"),
    )
    assert again(WorkloadView, state) == state


@given(
    st.builds(
        Settings,
        timeout_ns=WHOLE,
        skip_futile=st.booleans(),
        managed_by=TEXT,
    )
)
def test_settings_are_read_back(settings: Settings) -> None:
    assert loads(Settings, dumps(settings)) == settings


CONDITIONS = st.builds(Condition, TEXT, st.sampled_from(["True", "False"]), last_transition_ns=WHOLE)


@given(
    st.builds(
        WorkerView,
        name=TEXT,
        position=st.none() | WHOLE,
        replica=st.none()
        | st.builds(
            Replica,
            TEXT,
            TEXT,
            st.dictionaries(TEXT, CONDITIONS),
            has_gate=st.booleans(),
            signal_ns=st.none() | WHOLE,
        ),
        busy=st.booleans(),
        problem=TEXT,
    )
)
def test_workers_are_read_back(made: WorkerView) -> None:
    assert loads(WorkerView, dumps(made)) == made


REFUSED: dict[str, tuple[type, Any, str]] = {
    "a field of the future": (
        Settings,
        {"hindsight": True},
        "Settings in the recording has a field 'hindsight', which this version",
    ),
    "an action of the future": (act.Step, {"actions": [{"is": "Explode"}]}, "holds a 'Explode', which this version"),
    "an action without a name": (act.Step, {"actions": [{}]}, "holds a None, which this version"),
    "a choice of the future": (
        Settings,
        {"policy": "Best"},
        "does not hold a Settings: 'Best' is not a valid GatePolicy",
    ),
    "a string for a number": (Settings, {"timeout_ns": "1"}, "holds '1' where int is expected"),
    "a switch for a number": (Settings, {"timeout_ns": True}, "holds True where int is expected"),
    "a number for a string": (WorkerView, {"name": 7, "position": None}, "holds 7 where str is expected"),
    "a number for a UID": (OutOfSync, {"replica_uid": 7}, "holds 7 where str is expected"),
    "a missing field": (HubWorkload, {"namespace": "n"}, "does not hold a HubWorkload"),
    "a list for a mapping": (HubWorkload, {"conditions": []}, r"holds \[\] where dict is expected"),
    "a pair of three": (act.PatchHubStatus, {"finished": ["a", "b", "c"]}, "does not hold a PatchHubStatus"),
    "no mapping at all": (Settings, [], r"holds \[\] where dict is expected"),
}


@pytest.mark.parametrize(("kind", "plain", "want"), REFUSED.values(), ids=REFUSED)
def test_what_is_not_understood_is_refused_in_one_sentence(kind: type, plain: Any, want: str) -> None:
    with pytest.raises(RecordingError, match=want):
        loads(kind, orjson.dumps(plain))


def test_only_plain_values_are_recorded() -> None:
    @dataclass(frozen=True)
    class Odd:
        value: object

    with pytest.raises(RecordingError, match="a bytes cannot be recorded"):
        dumps(Odd(b"x"))


def test_a_field_is_read_by_the_name_that_it_had_before() -> None:
    outcome = PolicyOutcome(GatePolicy.LEAST_DISRUPTION, W1, PreemptionCost(1, 2, 3))
    now = dumps(outcome)
    assert b'"cost"' in now
    assert loads(PolicyOutcome, now) == outcome
    assert loads(PolicyOutcome, now.replace(b'"cost"', b'"toll"')) == outcome
