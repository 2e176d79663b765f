"""Limits how many expensive operations may start, in total and per address; excess is rejected, not queued.

A flooding client uses up the share of its own address, at most half of the total.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from typing import Final

from workerclient.base.clock import Clock

_REMEMBERED: Final = 1024
_IPV6_PREFIX: Final = 64
"""One machine easily has all addresses of such a network."""


@dataclass(slots=True)
class _Allowance:
    left: float
    counted_at: float

    def refill(self, now: float, per_second: float, burst: float) -> float:
        self.left = min(burst, self.left + (now - self.counted_at) * per_second)
        self.counted_at = now
        return self.left


class ConnectionRate:
    """Counts beginnings."""

    def __init__(self, clock: Clock, per_second: float, burst: float) -> None:
        self._clock = clock
        self._per_second = per_second
        self._burst = burst
        self._all = _Allowance(burst, clock.monotonic())
        self._shares: dict[Hashable, _Allowance] = {}

    def admits(self, address: Hashable) -> bool:
        """Return whether one more may begin from an address; if so, it is counted."""
        now = self._clock.monotonic()
        share = self._shares.pop(address, None) or _Allowance(self._burst / 2, now)
        self._shares[address] = share
        if len(self._shares) > _REMEMBERED:
            del self._shares[next(iter(self._shares))]
        of_all = self._all.refill(now, self._per_second, self._burst)
        of_address = share.refill(now, self._per_second / 2, self._burst / 2)
        if of_all < 1.0 or of_address < 1.0:
            return False
        self._all.left -= 1.0
        share.left -= 1.0
        return True


def shared_address(host: str) -> str:
    """Return by what an address is counted: an IPv6 address by its network, an IPv4 one as it is."""
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if not isinstance(address, IPv6Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return f"{int(address) >> _IPV6_PREFIX:x}"
