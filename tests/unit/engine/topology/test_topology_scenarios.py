"""Acceptance scenarios of topology-aware scheduling that one nomination shows, against recorded answers of Kueue."""

import pytest

from tests.unit.engine.topology.recorded import disagreements, random_scenarios, scenarios

PLACEMENT = {
    "1 the first of equal hosts by path": ["1"],
    "2 the tightest host": ["2"],
    "3 no host is large enough": ["3"],
    "4 the tight rack and not the larger one": ["4"],
    "5 the smaller rack": ["5"],
    "6 a rack in part": ["6"],
    "7 the largest rack in part": ["7"],
    "8 no rack is large enough": ["8"],
    "9 a whole block": ["9"],
    "10 hosts of both racks of a block are one list": ["10"],
    "11 preferred goes one level up": ["11"],
    "12 preferred rack becomes a block": ["12"],
    "13 preferred host becomes both blocks": ["13"],
    "14 preferred does not fit anywhere": ["14"],
    "15 unconstrained takes the smallest host that holds all": ["15"],
    "16 unconstrained fills small hosts first": ["16"],
    "17 without the mixed profile large hosts first": ["17"],
    "18 unconstrained does not fit anywhere": ["18"],
    "19 a used host": ["19"],
    "20 a host used in part": ["20"],
    "21 pods larger than a host are counted as excluded": ["21"],
    "22 a resource that no Node has": ["22"],
    "23 hosts that are used beyond their capacity": ["23"],
    "24 pod slots limit": ["24a", "24b"],
    "25 fractions of a core": ["25"],
    "26 pods that request nothing": ["26a-cpu-only-queue", "26b-pods-covered"],
    "27 a rack as the lowest level adds its Nodes up": ["27a", "27b"],
    "28 a topology without Nodes": ["28"],
}
SLICES_AND_GROUPS = {
    "29 slices in racks of one block": ["29"],
    "30 slices in racks of the other block": ["30"],
    "31 too few slices": ["31"],
    "32 below the slice level small hosts first": ["32"],
    "33 with and without a slice": ["33a", "33b"],
    "34 two layers": ["34"],
    "35 slices alone": ["35"],
    "36 slices alone over several blocks": ["36"],
    "37 what is not a whole slice is not placed": ["37"],
    "38 fewer pods than a slice": ["38"],
    "39 slices above the requested level": ["39"],
    "40 two layers in one block": ["40"],
    "41 layers that do not divide": ["41"],
    "42 layers that fit and do not fit": ["42a", "42b"],
    "43 a slice without a size": ["43"],
    "44 a leader and its workers": ["44", "44b-workers-first"],
    "45 a leader on a larger rack": ["45"],
    "46 only the leader does not fit": ["46"],
    "47 one leader and one worker": ["47a-workers-first", "47b-leader-first-one-to-one"],
    "48 a leader that fills a host": ["48"],
    "49 the leader's selector is ignored": ["49"],
    "50 two pod sets do not share a host": ["50", "5.2-two-podsets-second-fails", "4.3-two-flavors-two-podsets"],
}
INPUTS = {
    "51 Nodes that are not ready or cordoned": ["51a", "51b", "51c", "51d"],
    "52 a Node without a level's label": ["52", "1.4.2-empty-level-value"],
    "53 a hostname that is not the Node's name": ["53a", "53b", "1.4.3-two-nodes-one-host-label"],
    "54 taints": ["54a", "54b", "54c", "54d-prefer-no-schedule"],
    "55 selectors and affinity": ["55a", "55b", "55c-matchFields"],
    "56 a pod without a topology takes room for good": ["56"],
    "57 a finished pod takes none": ["57a", "57b-failed"],
    "58 a pod that Kueue placed is not counted twice": ["58", "58b-required-annotation", "1.6.1-pods-of-tas-workload"],
    "59 flavors that share hosts": ["59a", "59b", "4.4.3-overlap", "1.6.2-no-host-level-not-shared"],
    "60 reclaimable pods keep their hosts": ["60"],
    "61 a delayed topology takes no hosts": ["61"],
    "62 transformed requests": ["62a", "62b"],
}
FLAVORS = {
    "63 a plain pod set avoids a topology": ["63", "63b-no-quota-on-g", "1.2.2-only-pod-index-label-plain-queue"],
    "64 an implied topology": ["64"],
    "65 a topology avoids plain flavors": ["65a", "65b"],
    "66 an unknown level": ["66", "1.2.2-slice-size-alone"],
    "67 unconstrained false": ["67", "3.1-unconstrained-and-required"],
    "68 the next flavor in the next cycle": ["68a", "68b"],
    "69 no flavor has Nodes": ["69"],
    "70 a group that only grants quota": ["70"],
    "71 two flavors with topologies": ["71"],
    "72 a queue without flavors": ["72"],
    "73 a missing Topology": ["73"],
    "74 quota and topology both short": ["74"],
    "75 partial admission": ["75"],
}
PREEMPTION = {
    "76 a lower priority on the needed host": ["76", "4.3-preempt-sets-all-frs"],
    "77 a queue within its quota keeps its hosts": ["77"],
    "78 a borrower gives its hosts": ["78"],
    "79 another tree keeps its hosts": ["79"],
    "80 a victim that turns out not to be needed": ["80"],
    "81 order and not tightness": ["81", "4.4.2-candidate-of-other-resource-only", "4.4.2-candidate-shares-no-fr"],
    "82 pods that request nothing never pass the check": ["82"],
    "89 what is nominated cannot be had": ["89-nomination"],
    "91 fair sharing with hosts": ["91"],
    "92 which member of a group is named is left to chance": ["92", "4.3-zero-request-group-member"],
}
SECOND_PASS = {
    "93 provisioning delays the topology": ["93"],
    "94 the second pass heeds what the check adds": ["94"],
    "95 the second pass fails": ["95-no-capacity"],
    "96 a hub needs no Nodes": ["96"],
    "97 a hub flavor without a topology": ["97"],
    "98 a hub without the Topology": ["98"],
    "102 an assignment with a prefix": ["102"],
    "103 an assignment in two runs": ["103", "103b-two-runs-shorter"],
    "104 a prefix and a suffix that overlap": ["104"],
}
OTHERS = {
    "count": ["4.3.1-count-zero", "2.2-no-pods-allocatable", "2.2-limiting-tie", "2.2-zero-request"],
    "usage": ["1.6.2-inactive-queue-usage", "1.6.3-vanished-leaf", "1.1.5-gate-off"],
    "second pass": ["4.6.2-second-pass-quota-for-two", "4.6.2-second-pass-exact-quota"],
}
TABLES = (PLACEMENT, SLICES_AND_GROUPS, INPUTS, FLAVORS, PREEMPTION, SECOND_PASS, OTHERS)
CASES = {case: names for table in TABLES for case, names in table.items()}


@pytest.mark.parametrize("case", CASES)
def test_the_engine_answers_as_kueue_does(case: str) -> None:
    assert {name: disagreements(scenarios()[name]) for name in CASES[case]} == {name: [] for name in CASES[case]}


def test_every_recorded_scenario_is_in_a_table() -> None:
    assert sorted(name for names in CASES.values() for name in names) == sorted(scenarios())


def test_random_scenarios_are_answered_as_kueue_does() -> None:
    found = {each["name"]: differing for each in random_scenarios() if (differing := disagreements(each))}
    assert found == {}


def test_random_scenarios_cover_every_kind_of_outcome() -> None:
    expected = [each["expect"] for each in random_scenarios()]
    assert {each["mode"] for each in expected} == {"Fit", "Preempt", "NoFit"}
    assert {target["reason"] for each in expected for target in each["targets"]} == {
        "InClusterQueue",
        "InCohortReclamation",
        "InCohortReclaimWhileBorrowing",
        "InCohortFairSharing",
    }
    assert sum("topology" in each and bool(each["targets"]) for each in expected) > 20
