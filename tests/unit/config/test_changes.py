"""What a running daemon takes over from a changed file, and what waits for its next start."""

from typing import Any

import pytest

from config.loading.changes import LIVE, change_between, fields_of_sections
from config.names import CONFIG_API_VERSION, CONFIG_KIND
from config.sections.settings import Configuration


def configured(**sections: Any) -> Configuration:
    return Configuration(api_version=CONFIG_API_VERSION, kind=CONFIG_KIND, **sections)


def test_every_live_field_is_a_field() -> None:
    assert set(fields_of_sections()) >= LIVE


def test_nothing_changed_is_no_change() -> None:
    change = change_between(configured(), configured())
    assert (change.applied, change.waiting) == ((), ())


CASES: dict[str, tuple[dict[str, Any], tuple[str, ...], tuple[str, ...]]] = {
    "a worker": ({"workers": [{"name": "w1"}]}, ("workers",), ()),
    "a policy": ({"gates": {"policy": "PreferNoPreemption"}}, ("gates.policy",), ()),
    "the address": ({"http": {"port": 1}}, (), ("http.port",)),
    "the Lease": ({"leader_election": {"lease_name": "x"}}, (), ("leaderElection.leaseName",)),
    "the identity": ({"hub": {"origin": "x"}}, (), ("hub.origin",)),
    "both kinds": (
        {"hub": {"origin": "x", "kubeconfig": "/k"}, "logging": {"level": "debug"}},
        ("hub.kubeconfig", "logging.level"),
        ("hub.origin",),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_changes_now_and_what_waits(case: str) -> None:
    sections, applied, waiting = CASES[case]
    running, wanted = configured(), configured(**sections)
    change = change_between(running, wanted)
    assert (change.applied, change.waiting) == (applied, waiting)
    assert change_between(running, change.configuration).waiting == ()
    assert change_between(change.configuration, wanted).applied == ()
