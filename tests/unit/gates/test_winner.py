"""The record of the winner on the hub Workload."""

import pytest

from gates.view import Winner
from gates.winner import format_winner, parse_winner


def test_the_record_is_read_back_as_it_was_written() -> None:
    winner = Winner("w1", "uid", 1_800_000_000_000_000_001)
    assert parse_winner(format_winner(winner)) == winner


def test_without_a_record_there_is_no_winner() -> None:
    assert parse_winner(None) is None


@pytest.mark.parametrize(
    "text", ["w1", "[]", "{}", '{"cluster":"w1","replicaUID":"u","quotaReservedAtUnixNano":"soon"}']
)
def test_a_record_that_we_did_not_write_is_refused_by_name(text: str) -> None:
    with pytest.raises(ValueError, match=r"the record of the winner is .* expected \{cluster, replicaUID"):
        parse_winner(text)
