"""KEP-8522: validation, expiry and order of equal holders."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.objects.time_based import (
    expires_at,
    is_expired,
    read_min_admit_duration,
)
from engine.vocabulary.errors import FieldError

SECOND = 1_000_000_000
HOUR = 3600 * SECOND
NEWER = "LowerOrNewerEqualPriority"


@pytest.mark.parametrize("text", ["60s", "1m", "4h", "100000h"])
def test_141_v1_v4_sixty_seconds_and_more_are_accepted(text: str) -> None:
    block = {"withinClusterQueue": NEWER, "withinClusterQueueConfig": {"minAdmitDuration": text}}
    assert (read_min_admit_duration(block) or 0) >= 60 * SECOND


@pytest.mark.parametrize("text", ["59s", "59.999s", "0s", "0", "-1m"])
def test_141_v1_shorter_durations_are_refused(text: str) -> None:
    block = {"withinClusterQueue": NEWER, "withinClusterQueueConfig": {"minAdmitDuration": text}}
    with pytest.raises(FieldError, match=r"minAdmitDuration: .* is not allowed: must be at least 60s"):
        read_min_admit_duration(block)


@pytest.mark.parametrize("text", ["soon", "60", 60, ""])
def test_v6_malformed_duration_is_refused(text: object) -> None:
    block = {"withinClusterQueue": NEWER, "withinClusterQueueConfig": {"minAdmitDuration": text}}
    with pytest.raises(FieldError, match=r"minAdmitDuration: .* is not a duration"):
        read_min_admit_duration(block)


@pytest.mark.parametrize("config", [{}, {"minAdmitDuration": None}])
def test_141_v2_config_without_duration_is_valid_and_inactive(config: dict[str, object]) -> None:
    assert read_min_admit_duration({"withinClusterQueue": NEWER, "withinClusterQueueConfig": config}) is None


@pytest.mark.parametrize("policy", ["Never", "LowerPriority", None])
@pytest.mark.parametrize("config", [{}, {"minAdmitDuration": "4h"}])
def test_141_v3_config_needs_the_policy_that_compares_equals(policy: str | None, config: dict[str, object]) -> None:
    with pytest.raises(FieldError) as caught:
        read_min_admit_duration({"withinClusterQueue": policy, "withinClusterQueueConfig": config})
    assert "spec.preemption.withinClusterQueueConfig" in str(caught.value)
    assert "spec.preemption.withinClusterQueue: LowerOrNewerEqualPriority" in str(caught.value)


@pytest.mark.parametrize("block", [None, {}, {"withinClusterQueue": NEWER}, {"withinClusterQueueConfig": None}])
def test_136_absent_config_switches_nothing_on(block: dict[str, object] | None) -> None:
    assert read_min_admit_duration(block) is None


def test_config_of_another_type_is_refused() -> None:
    with pytest.raises(FieldError, match="must be a map"):
        read_min_admit_duration({"withinClusterQueue": NEWER, "withinClusterQueueConfig": "4h"})


def test_137_expiry_is_strict() -> None:
    assert not is_expired(4 * HOUR, 0, 4 * HOUR)
    assert is_expired(4 * HOUR + 1, 0, 4 * HOUR)
    assert not is_expired(0, HOUR, HOUR)
    assert not is_expired(10 * HOUR, None, HOUR)


@settings(deadline=None)
@given(st.integers(0, 10**19), st.integers(60 * SECOND, 10**18))
def test_142_timer_fires_exactly_when_the_holder_expires(reserved: int, duration: int) -> None:
    moment = expires_at(reserved, duration)
    assert is_expired(moment, reserved, duration)
    assert not is_expired(moment - 1, reserved, duration)
