"""The pace of the door: bounded in all, and one address never takes more than half."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manager.serving.connection_rate import ConnectionRate, shared_address
from tests.support.virtual_time import VirtualClock

RATE, BURST = 20.0, 64.0
STEPS = st.lists(st.tuples(st.floats(0, 2), st.sampled_from("abc"), st.integers(1, 80)), max_size=30)


class SteppedClock(VirtualClock):
    """A clock that a synchronous test moves."""

    def step(self, seconds: float) -> None:
        self._set(self.monotonic() + seconds)


@given(STEPS)
def test_S7_no_address_takes_more_than_half_and_all_no_more_than_the_pace(
    steps: list[tuple[float, str, int]],
) -> None:
    clock = SteppedClock()
    pace = ConnectionRate(clock, RATE, BURST)
    taken = dict.fromkeys("abc", 0)
    for seconds, address, count in steps:
        clock.step(seconds)
        for _ in range(count):
            taken[address] += pace.admits(address)
        assert taken[address] <= BURST / 2 + RATE / 2 * clock.monotonic() + 1e-6
        assert sum(taken.values()) <= BURST + RATE * clock.monotonic() + 1e-6


@given(STEPS)
def test_S7_who_comes_seldom_is_let_in_whatever_one_other_does(steps: list[tuple[float, str, int]]) -> None:
    clock = SteppedClock()
    pace = ConnectionRate(clock, RATE, BURST)
    for seconds, _, count in steps:
        clock.step(max(seconds, 0.2))
        for _ in range(count):
            pace.admits("flood")
        assert pace.admits("prober")


def test_S7_the_memory_of_addresses_is_bounded() -> None:
    remembered: set[int] = set()

    class Address(int):
        """Says when nothing holds it any longer."""

        def __del__(self) -> None:
            remembered.discard(int(self))

    pace = ConnectionRate(VirtualClock(), RATE, BURST)
    for number in range(5000):
        remembered.add(number)
        pace.admits(Address(number))
    assert 0 < len(remembered) <= 1024


@pytest.mark.parametrize(
    ("host", "same"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("2001:db8::1", shared_address("2001:db8::ffff:1")),
        ("fe80::1%eth0", shared_address("fe80::2")),
    ],
)
def test_S7_what_one_machine_can_have_is_one_address(host: str, same: str) -> None:
    assert shared_address(host) == same


def test_S7_different_networks_are_different_addresses() -> None:
    assert len({shared_address(host) for host in ("2001:db8::1", "2001:db8:0:1::1", "10.0.0.1", "10.0.0.2")}) == 4
