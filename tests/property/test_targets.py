"""No rule reaches a worker that is not listed, and none keeps a Workload from the last worker without saying so.

Also where more workers are listed than the hub takes nominations: within some rounds each of them is nominated.
"""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from config.api.identifiers import WorkerName
from gates.decision.decide import decide
from gates.decision.dispatch import MOST_NOMINATED, nominate
from gates.model.actions import CreateReplica, PatchHubStatus
from gates.model.settings import MINUTE, Dispatcher, Settings
from gates.model.view import WorkerView, WorkloadView
from gates.targets.matching import WorkerTraits, exclusion_of
from gates.targets.rules import CLUSTER_NAMES, CLUSTER_SELECTOR, target_rules
from tests.unit.gates.groups import NOW, hub

NAMES = [WorkerName(f"w{number}") for number in range(6)]
LABELS = st.dictionaries(st.sampled_from(["tier", "gpu"]), st.sampled_from(["a", "b"]))
SELECTORS = st.sampled_from(["tier=a", "tier!=a", "gpu in (a,b)", "!gpu", "tier,gpu notin (b)", "tier=((", ""])
ANNOTATIONS = st.fixed_dictionaries(
    {},
    optional={
        CLUSTER_NAMES: st.lists(st.sampled_from([*NAMES, "stranger"]), max_size=4).map(",".join),
        CLUSTER_SELECTOR: SELECTORS,
    },
)
MODES = st.sampled_from([Dispatcher.ALL_AT_ONCE, Dispatcher.INCREMENTAL, Dispatcher.FORECAST_FIRST])


@given(
    listed=st.lists(st.sampled_from(NAMES), unique=True, min_size=1),
    labels=st.dictionaries(st.sampled_from(NAMES), LABELS),
    workload=ANNOTATIONS,
    job=ANNOTATIONS,
    mode=MODES,
)
def test_rules_only_narrow_and_say_what_they_do(
    listed: list[WorkerName],
    labels: dict[WorkerName, dict[str, str]],
    workload: dict[str, str],
    job: dict[str, str],
    mode: Dispatcher,
) -> None:
    rules = target_rules(workload, job)
    excluded = {name: exclusion_of(rules, name, WorkerTraits(labels.get(name, {}))) for name in listed}
    workers = tuple(WorkerView(name, place, exclusion=excluded[name]) for place, name in enumerate(listed))
    decision = decide(WorkloadView(hub(targets=rules), workers), NOW, Settings(dispatcher=mode, step_size=9), {})
    reached = {action.cluster for action in decision.actions if isinstance(action, CreateReplica)}
    told = "; ".join(a.check_message or "" for a in decision.actions if isinstance(a, PatchHubStatus))
    eligible = {name for name in listed if excluded[name] is None}
    if rules.problem:
        assert not reached
        assert told == rules.problem
        return
    assert reached == eligible, "what no rule takes away is tried, and nothing else"
    for name in set(listed) - eligible:
        exclusion = excluded[name]
        assert exclusion is not None
        assert name in told
        assert exclusion.text in told
    assert all(name in told for name in (rules.cluster_names or ()) if name not in listed)


@given(count=st.integers(MOST_NOMINATED + 1, 3 * MOST_NOMINATED), mode=MODES, step=st.integers(1, 30))
def test_every_worker_is_nominated_within_some_rounds(count: int, mode: Dispatcher, step: int) -> None:
    settings = Settings(dispatcher=mode, step_size=step)
    view = WorkloadView(hub(), tuple(WorkerView(WorkerName(f"w{place}"), place) for place in range(count)))
    now, tried = NOW, set[WorkerName]()
    for _ in range(count + 5):
        found = nominate(view, now, settings, {})
        assert len(found.clusters) <= MOST_NOMINATED
        assert len(set(found.clusters)) == len(found.clusters)
        tried.update(found.clusters)
        started = found.round_started_ns if found.round_started_ns is not None else view.workload.round_started_ns
        view = replace(view, workload=replace(view.workload, nominated=found.clusters, round_started_ns=started))
        now += 6 * MINUTE
    assert len(tried) == count
