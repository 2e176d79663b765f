"""What a process may say of openings that an earlier one may have sent as well."""

from dataclasses import replace

from config.api.identifiers import ReplicaUID
from config.api.meta import Condition
from gates.model.openings import Opening, Steady
from gates.wire.records import HubRecord
from manager.reconcile.windows import Windows
from tests.support.virtual_time import VirtualClock
from tests.support.worker_names import W1

NOW = 1_800_000_000 * 10**9
HUB = HubRecord("ns", "wl", "uid", "7", 1, {"QuotaReserved": Condition("QuotaReserved", "True", "", "", NOW)}, (), ())


def opening(opened_ns: int = NOW) -> Opening:
    return Opening(W1, ReplicaUID("w1-uid"), opened_ns, "attempt", Steady("boot", 0), entry_ns=opened_ns)


def windows() -> Windows:
    return Windows(VirtualClock())


def fail(made: Windows, hub: HubRecord, *, may_arrive: bool) -> None:
    for each in hub.openings:
        made.note_try(hub, each.cluster, each.replica_uid, each.opened_ns, may_arrive=may_arrive)


def test_F7_what_this_process_recorded_and_could_not_send_cannot_arrive() -> None:
    made, recorded = windows(), replace(HUB, openings=(opening(),))
    made.remember(HUB)
    made.wrote(HUB, recorded.openings)
    assert made.last_try(recorded, W1) is None
    fail(made, recorded, may_arrive=False)
    assert made.last_try(recorded, W1) == 0


def test_F7_what_another_process_recorded_may_have_been_sent_by_it() -> None:
    made, recorded = windows(), replace(HUB, openings=(opening(),))
    made.remember(recorded)
    fail(made, recorded, may_arrive=False)
    assert made.last_try(recorded, W1) is None


def test_F7_so_it_may_when_its_window_begins_again() -> None:
    made, begun_again = windows(), replace(opening(), opened_ns=NOW + 5)
    made.remember(replace(HUB, openings=(opening(),)))
    recorded = replace(HUB, openings=(begun_again,))
    made.wrote(HUB, recorded.openings)
    fail(made, recorded, may_arrive=False)
    assert made.last_try(recorded, W1) is None


def test_F7_and_when_it_is_sent_again_in_the_same_window() -> None:
    made, recorded = windows(), replace(HUB, openings=(opening(),))
    made.remember(recorded)
    made.wrote(HUB, recorded.openings)
    fail(made, recorded, may_arrive=False)
    assert made.last_try(recorded, W1) is None


def test_F7_a_try_that_may_have_arrived_counts_whichever_process_recorded_it() -> None:
    made, recorded = windows(), replace(HUB, openings=(opening(),))
    made.remember(recorded)
    fail(made, recorded, may_arrive=True)
    assert made.last_try(recorded, W1) is not None
