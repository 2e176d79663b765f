"""Who was preempted for whom, over many Workloads: from recorded decisions. Pure."""

from dataclasses import dataclass
from typing import Final

from config.api.meta import Obj, ObjectKey
from engine.forecasting.verification import Evicted
from gates.model.actions import RecordForecast
from gates.model.forecasts import ForecastRecord
from gates.model.texts import moment
from gates.reports.timeline_events import Recorded

_Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class VictimFilter:
    """Whose preemptions are wanted; an empty field leaves it open."""

    namespace: str = ""
    name: str = ""
    worker: str = ""

    def includes(self, worker: str, victim: Evicted) -> bool:
        """Tell whether a victim on a worker is wanted."""
        wanted = ((self.namespace, victim.namespace), (self.name, victim.name), (self.worker, worker))
        return all(not asked or asked == found for asked, found in wanted)


@dataclass(frozen=True, slots=True)
class PreemptedWorkload:
    """One workload that was preempted for a Workload of the hub."""

    seen_ns: int
    """When a decision first saw it preempted."""
    worker: str
    victim: Evicted
    preemptor: ObjectKey
    preemptor_uid: str
    is_forecast: bool | None
    """Whether the forecast behind the opening named it; None if there was no forecast."""
    result: str
    """How that forecast turned out; empty if there was none."""

    def document(self) -> Obj:
        """Return the victim as documents show it."""
        return {
            "time": moment(self.seen_ns),
            "worker": self.worker,
            "namespace": self.victim.namespace,
            "name": self.victim.name,
            "uid": self.victim.uid,
            "reason": self.victim.reason,
            "preemptor": str(self.preemptor),
            "preemptorUID": self.preemptor_uid,
            "forecast": self.is_forecast,
            "result": self.result,
        }


class VictimHistory:
    """Collects victims from decisions that come newest first; each is told once for each Workload that preempted it."""

    EVIDENCE: Final = b'"evicted":[{'
    """What the record of a decision that saw a victim contains."""

    def __init__(self, wanted: VictimFilter) -> None:
        self._wanted = wanted
        self._found: dict[_Key, PreemptedWorkload] = {}

    def add(self, recorded: Recorded) -> None:
        """Take the next older decision: it knows better when, and newer ones how the forecast turned out."""
        workload = recorded.group.workload
        record = _latest_record(recorded)
        for worker in recorded.group.workers:
            about = record if record is not None and record.cluster == worker.name else None
            for victim in worker.witness.evicted if worker.witness is not None else ():
                if not self._wanted.includes(worker.name, victim):
                    continue
                key = (worker.name, victim.uid, workload.uid)
                known = self._found.get(key)
                self._found[key] = PreemptedWorkload(
                    recorded.at_ns,
                    worker.name,
                    victim,
                    workload.key,
                    workload.uid,
                    known.is_forecast if known is not None else _is_forecast(victim, about),
                    known.result if known is not None else str(about.result) if about is not None else "",
                )

    def victims(self) -> list[PreemptedWorkload]:
        """Return the victims, oldest first."""
        return sorted(self._found.values(), key=lambda each: (each.seen_ns, each.worker, each.victim.uid))


def _latest_record(recorded: Recorded) -> ForecastRecord | None:
    written = [each.record for each in recorded.decision.actions if isinstance(each, RecordForecast)]
    return written[-1] if written else recorded.group.workload.forecast


def _is_forecast(victim: Evicted, record: ForecastRecord | None) -> bool | None:
    return None if record is None else any(each.uid == victim.uid for each in record.forecast.victims)
