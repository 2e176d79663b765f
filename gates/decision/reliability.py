"""Whether the forecasts for a worker have been right often enough to be used."""

from collections.abc import Sequence
from typing import Final

from engine.forecasting.verification import ForecastResult

COUNTED: Final = frozenset({ForecastResult.EXACT, ForecastResult.SUBSET, ForecastResult.SUPERSET, ForecastResult.WRONG})
"""Results that say something about the forecasts; the others are about circumstances."""

_ENOUGH: Final = 5


def hit_rate(results: Sequence[ForecastResult]) -> int | None:
    """Return the percentage of exact forecasts, rounded down; None if nothing was counted."""
    counted = [result for result in results if result in COUNTED]
    return 100 * counted.count(ForecastResult.EXACT) // len(counted) if counted else None


def is_reliable(results: Sequence[ForecastResult], minimum: int, window: int) -> bool:
    """Judge by the last results; a few misses at the beginning prove nothing."""
    counted = [result for result in results if result in COUNTED][-window:]
    rate = hit_rate(counted)
    return rate is None or len(counted) < min(_ENOUGH, window) or rate >= minimum
