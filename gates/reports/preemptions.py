"""The preemption that an open gate allows: who was forecast to be preempted, and who was.

The forecast is the record that was written with the opening; what happened is what the model of the worker saw.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from config.api.meta import Obj
from engine.forecasting.forecast import ForecastVictim
from engine.forecasting.verification import ForecastResult
from gates.model.forecast_documents import victim_document
from gates.model.forecasts import ForecastRecord, Witness
from gates.model.openings import Opening
from gates.model.texts import moment


@dataclass(frozen=True, slots=True)
class PreemptionVictim:
    """One workload that is preempted, or is to be."""

    namespace: str
    name: str
    reason: str
    forecast: ForecastVictim | None = None
    """What the forecast said about it; None if it was not forecast."""
    is_preempted: bool | None = None
    """Whether its worker shows it as preempted; None if the worker was not asked."""

    def document(self) -> Obj:
        """Return the victim as documents show it."""
        known = self.forecast or ForecastVictim(self.namespace, self.name, "", "", self.reason)
        return {**victim_document(known), "forecast": self.forecast is not None, "preempted": self.is_preempted}


@dataclass(frozen=True, slots=True)
class RunningPreemption:
    """What an open gate leads to on one worker."""

    opened_ns: int
    ends_ns: int | None
    victims: tuple[PreemptionVictim, ...] = ()

    def document(self) -> Obj:
        """Return the preemption as documents show it."""
        return {
            "opened": moment(self.opened_ns),
            "windowEnds": moment(self.ends_ns),
            "victims": [victim.document() for victim in self.victims],
        }


def running_preemption(
    opening: Opening, record: ForecastRecord | None, witness: Witness | None, timeout_ns: int | None
) -> RunningPreemption:
    """Put together what was forecast for an opening and what its worker shows; without a witness that is unknown."""
    is_about = record is not None and record.is_about(opening.cluster, opening.replica_uid, opening.opened_ns)
    victims = tuple(_victims(record if is_about else None, witness))
    ends_ns = opening.opened_ns + timeout_ns if timeout_ns is not None else None
    return RunningPreemption(opening.opened_ns, ends_ns, victims)


def _victims(record: ForecastRecord | None, witness: Witness | None) -> Iterable[PreemptionVictim]:
    evicted = {each.uid: each for each in witness.evicted} if witness is not None else {}
    for victim in record.forecast.victims if record is not None else ():
        is_seen = evicted.pop(victim.uid, None) is not None
        # What a worker shows is forgotten some time after the forecast was verified; the result stays.
        is_exact = record is not None and record.result is ForecastResult.EXACT
        is_preempted = True if is_seen or is_exact else None if witness is None else False
        yield PreemptionVictim(victim.namespace, victim.name, victim.reason, victim, is_preempted)
    for each in evicted.values():
        yield PreemptionVictim(each.namespace, each.name, each.reason, is_preempted=True)
