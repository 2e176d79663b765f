"""Several cycles of the engine against several cycles of a real Kueue, on the same objects of a real cluster.

Compared is where each round ends, workload by workload: all conditions with reason and message (so also who was
evicted, for whom and why, and who is held back by a gate), the quota held in which flavor, the gates. Other situations
with TURNSTILE_CYCLES_SEED=<first seed> and TURNSTILE_CYCLES_COUNT=<how many are drawn>.
"""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import pytest
import yaml

from engine.objects.configuration import KueueConfiguration
from tests.conformance.servers import is_continuous_integration
from tests.realbed import build, cluster
from tests.realbed.cluster import RealCluster
from tests.realbed.cycles.comparison import Expectation, Laid, facts
from tests.realbed.cycles.drawn import drawn
from tests.realbed.cycles.handmade import FAIR, HANDMADE
from tests.realbed.cycles.situations import Situation
from tests.realbed.cycles.stage import Stage
from tests.realbed.kueue import KueueOptions
from tests.realbed.processes import ProcessGroup
from tests.support.builders import flavor

_SEED = int(os.environ.get("TURNSTILE_CYCLES_SEED", "1"))
_COUNT = int(os.environ.get("TURNSTILE_CYCLES_COUNT", "12"))
_FAIR_SHARING = {"preemptionStrategies": ["LessThanOrEqualToFinalShare", "LessThanInitialShare"]}
_MUST_OCCUR = {
    "classical": {
        "Preempted True InClusterQueue",
        "Preempted True InCohortReclamation",
        "Preempted True InCohortReclaimWhileBorrowing",
        "Requeued True Preempted",
        "BlockedOnPreemptionGates True PreemptionGated",
        "BlockedOnPreemptionGates False QuotaReserved",
        "QuotaReserved False Pending",
        "QuotaReserved False Inadmissible",
    },
    "fair sharing": {"Preempted True InCohortFairSharing", "Requeued True Preempted"},
}


pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealCluster]:
    directory = tmp_path_factory.mktemp("cycles")
    try:
        if is_continuous_integration():
            build.install_go()
        with ProcessGroup(directory / "logs") as processes:
            options = KueueOptions(feature_gates={"PriorityBoost": True})
            (directory / "worker").mkdir()
            yield cluster.start(processes, directory / "worker", options, runs_pods=False, audited=False)
    except build.ToolchainError as error:
        if is_continuous_integration():
            raise
        pytest.skip(f"no real Kueue: {error}")


@pytest.mark.parametrize("sharing", ["classical", "fair sharing"])
def test_real_kueue_ends_where_the_engine_does(
    worker: RealCluster, sharing: str, record_property: Callable[[str, object], None]
) -> None:
    is_fair = sharing == "fair sharing"
    seeds = range(_SEED, _SEED + (_COUNT // 2 if is_fair else _COUNT))
    situations = [*(FAIR if is_fair else HANDMADE), *(drawn(seed, is_fair=is_fair) for seed in seeds)]
    compared, occurred, found = _compare(worker, situations, is_fair=is_fair)
    record_property(
        "agreement",
        f"{sharing}: engine and real Kueue agree in {compared - len(found)} of {compared} rounds "
        f"of {len(situations)} situations",
    )
    assert not found, f"{len(found)} of {compared} disagree, TURNSTILE_CYCLES_SEED={_SEED}\n" + "\n".join(found)
    assert _MUST_OCCUR[sharing] <= occurred.keys()


def _compare(
    worker: RealCluster, situations: Sequence[Situation], *, is_fair: bool
) -> tuple[int, Counter[str], list[str]]:
    """Play all rounds; return how many were compared, which conditions occurred, and what disagrees."""
    kind = "f" if is_fair else "c"
    options = replace(worker.kueue.options, fair_sharing=_FAIR_SHARING if is_fair else None)
    by_prefix = {f"{kind}{number}": situation for number, situation in enumerate(situations)}
    stage = Stage(worker.server, worker.kueue, by_prefix, f"hold-{kind}", options)
    stage.build()
    compared, occurred, found = 0, Counter[str](), []
    for number in range(max(len(each.rounds) for each in situations)):
        stage.prepare(number)
        expected = _expectations(stage, number)
        stage.let_go()
        ends = stage.until_quiet(expected)
        for prefix, expectation in expected.items():
            compared += 1
            for told in facts(ends[prefix]).values():
                occurred.update(f"{kind} {status} {reason}" for kind, (status, reason, _) in told["conditions"].items())
            if difference := expectation.difference(ends[prefix]):
                found.append(f"{by_prefix[prefix].name}, round {number + 1}:\n{difference}")
    stage.take_hold()
    return compared, occurred, found


def _expectations(stage: Stage, number: int) -> dict[str, Expectation]:
    configuration = KueueConfiguration.from_raw(yaml.safe_load(stage.kueue.place.configuration_file.read_text()))
    objects, hold = stage.everything(), flavor(stage.hold).raw
    return {
        prefix: Expectation(Laid([*objects[prefix], hold], configuration, situation.victims, time.time_ns()))
        for prefix, situation in stage.situations.items()
        if len(situation.rounds) > number
    }
