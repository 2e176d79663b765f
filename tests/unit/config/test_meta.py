"""Times, conditions and keys of raw objects."""

import pytest

from config.api.meta import (
    ZERO_TIME_NS,
    Condition,
    ObjectKey,
    conditions,
    format_time,
    is_true,
    object_key,
    parse_time,
)

SECOND = 1_000_000_000


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T00:00:01Z", SECOND),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1969-12-31T23:00:00-01:00", 0),
        ("1970-01-01T00:00:00.5Z", SECOND // 2),
        ("1970-01-01T00:00:00.000000001Z", 1),
        ("1970-01-01T00:00:00.0000000019Z", 1),
        ("2026-02-28T12:34:56Z", 1772282096 * SECOND),
        ("0001-01-01T00:00:00Z", ZERO_TIME_NS),
        ("1969-12-31T23:59:59.9Z", -SECOND // 10),
    ],
)
def test_time_is_nanoseconds_since_the_epoch(text: str, want: int) -> None:
    assert parse_time(text) == want


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-01-01",
        "2026-01-01 00:00:00Z",
        "2026-01-01T00:00:00",
        "2026-13-01T00:00:00Z",
        "2026-02-30T00:00:00Z",
        "2026-02-30T00:00:00.5Z",
        "2026-01-01T24:00:00+01:00",
        "2026-01-01T24:00:00Z",
        "2026-01-01T00:60:00Z",
        "2026-01-01T00:00:60Z",
        "2026-01-01T00:00:00+25:00",
        "2026-W01-1T00:00:00Z",
        "٢٠٢٦-01-01T00:00:00Z",
    ],
)
def test_text_that_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a time"):
        parse_time(text)


def test_time_is_written_in_whole_seconds_of_utc() -> None:
    assert format_time(parse_time("2026-02-28T12:34:56.9+02:00")) == "2026-02-28T10:34:56Z"
    assert format_time(ZERO_TIME_NS) == "0001-01-01T00:00:00Z"


def test_conditions_are_read_from_an_object_or_from_its_status() -> None:
    status = {
        "conditions": [
            {
                "type": "QuotaReserved",
                "status": "True",
                "reason": "QuotaReserved",
                "message": "m",
                "lastTransitionTime": "1970-01-01T00:00:01Z",
                "observedGeneration": 3,
            },
            {"type": "Evicted", "status": "False", "lastTransitionTime": None},
        ]
    }
    want = {
        "QuotaReserved": Condition("QuotaReserved", "True", "QuotaReserved", "m", SECOND, 3),
        "Evicted": Condition("Evicted", "False"),
    }
    assert conditions(status) == want
    assert conditions({"metadata": {}, "status": status}) == want
    assert conditions({"metadata": {}}) == {}
    assert is_true(want, "QuotaReserved")
    assert not is_true(want, "Evicted")
    assert not is_true(want, "Finished")
    assert want["QuotaReserved"].is_true


def test_key_reads_like_kubectl() -> None:
    assert str(object_key({"metadata": {"namespace": "ns", "name": "w"}})) == "ns/w"
    assert str(object_key({"metadata": {"name": "cq"}})) == "cq"
    assert object_key({}) == ObjectKey("", "")
