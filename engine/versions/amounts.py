"""How a version of Kueue counts: what becomes of amounts that are too large for its integers.

Ordinary amounts are counted alike by all versions. The differences show with quotas and requests near the largest
int64, which people write for "no limit".
"""

import math
from fractions import Fraction
from typing import Final

from config.api import quantity
from config.api.quantity import quota_amount, request_amount, saturate, to_amount, unchecked_amount, wrap
from engine.versions.switches import Switches

_CPU: Final = "cpu"


class Amounts:
    """Counts as v0.19.1 does: nothing wraps, the largest int64 means "no limit", and no request is negative."""

    floors_requests = True

    def add(self, a: int, b: int) -> int:
        """Return the sum of two amounts of quota."""
        return quantity.add(a, b)

    def sub(self, a: int, b: int) -> int:
        """Return the difference of two amounts of quota."""
        return quantity.sub(a, b)

    def add_requests(self, a: int, b: int) -> int:
        """Return the sum of the requests of two pod sets that share their flavors."""
        return quantity.add(a, b)

    def multiply(self, amount: int, count: int) -> int:
        """Return the request of several pods."""
        return saturate(amount * count)

    def quota(self, resource: str, value: object) -> int:
        """Return the amount of a quota or limit as it is in JSON."""
        return quota_amount(resource, value)

    def usage(self, resource: str, value: object) -> int:
        """Return an amount in use as it is in JSON."""
        return request_amount(resource, value)

    def request(self, resource: str, value: object) -> int:
        """Return the amount of a request as it is in JSON."""
        amount = self.usage(resource, value)
        return max(0, amount) if self.floors_requests else amount

    def computed_request(self, resource: str, exact: Fraction) -> int:
        """Return the amount of a request that was added up from several."""
        return max(0, to_amount(resource, exact))


class TrustingAmounts(Amounts):
    """Counts as v0.18.3 and v0.19.0 do: requests other than for cpu are taken to be small."""

    floors_requests = False

    def add_requests(self, a: int, b: int) -> int:
        return wrap(a + b)

    def usage(self, resource: str, value: object) -> int:
        return request_amount(resource, value) if resource == _CPU else unchecked_amount(resource, value)

    def computed_request(self, resource: str, exact: Fraction) -> int:
        return to_amount(resource, exact) if resource == _CPU else wrap(_rounded(resource, exact))


class WrappingAmounts(TrustingAmounts):
    """Counts as v0.17.1 and older do: everything is taken to be small, and sums of large amounts turn negative."""

    def add(self, a: int, b: int) -> int:
        return wrap(a + b)

    def sub(self, a: int, b: int) -> int:
        return wrap(a - b)

    def multiply(self, amount: int, count: int) -> int:
        return wrap(amount * count)

    def quota(self, resource: str, value: object) -> int:
        return unchecked_amount(resource, value)

    def usage(self, resource: str, value: object) -> int:
        return unchecked_amount(resource, value)

    def computed_request(self, resource: str, exact: Fraction) -> int:
        return wrap(_rounded(resource, exact))


EXACT_AMOUNTS: Final = Amounts()
_TRUSTING: Final = TrustingAmounts()
_WRAPPING: Final = WrappingAmounts()


def amounts_of(switches: Switches) -> Amounts:
    """Return how a version counts."""
    if switches.wraps_large_amounts:
        return _WRAPPING
    return _TRUSTING if switches.trusts_large_requests else EXACT_AMOUNTS


def _rounded(resource: str, exact: Fraction) -> int:
    """Round away from zero to the unit that a resource is counted in, however large that is."""
    scaled = exact * 1000 if resource == _CPU else exact
    return math.floor(scaled) if scaled < 0 else math.ceil(scaled)
