"""What one worker would do with one Workload if its gate were opened now: verdict, victims, flavors, and what it costs.

Frozen values without a reference to the model, so that they can be written down and compared later.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from config.api.meta import NANOSECONDS, ObjectKey
from engine.forecasting.course import follow
from engine.forecasting.essentials import PackedWorkload
from engine.forecasting.observed import ObservedCluster
from engine.forecasting.places import PodPlace, PodSetShortage, places_held, places_of, shortages_of
from engine.forecasting.tenants import Tenant
from engine.objects.workloads import AdmittedWorkload, PendingWorkload, Workload
from engine.prediction.what_if import WhatIf
from engine.vocabulary.decision import Outcome, PodSetPrediction, Prediction
from engine.vocabulary.effort import Effort
from engine.vocabulary.errors import InvalidObjectError

Flavors = tuple[tuple[str, str], ...]
"""Resource and flavor, sorted."""

_CPU: Final = "cpu"
_MILLI: Final = 1000
BYTES_IN_A_STEP: Final = 32
"""How much of a Workload is read in one step, as often as it is read."""


class ForecastVerdict(StrEnum):
    """What a forecast says in one word."""

    FITS = "Fits"
    PREEMPTS = "Preempts"
    CANNOT = "Cannot"
    UNSUPPORTED = "Unsupported"
    AMBIGUOUS = "Ambiguous"


@dataclass(frozen=True, slots=True)
class ForecastVictim:
    """A workload that would be preempted."""

    namespace: str
    name: str
    uid: str
    cluster_queue: str
    reason: str
    priority: int = 0
    owner: str = ""
    pods: int = 0
    running_since_ns: int | None = None
    preemption_cost: int = 0
    in_flight: bool = False
    """It was already being evicted, for another workload."""
    places: tuple[PodPlace, ...] = field(default=(), compare=False)
    """Where its pods are, as far as a topology says so. No part of what is compared: records do not keep it."""

    @property
    def key(self) -> ObjectKey:
        """Return its name."""
        return ObjectKey(self.namespace, self.name)


@dataclass(frozen=True, slots=True, order=True)
class Cost:
    """What a preemption destroys. The order of the fields is the order in which two costs are compared."""

    preemption_cost: int = 0
    """The sum of the victims' annotations kueue.x-k8s.io/preemption-cost."""
    victims: int = 0
    pods: int = 0
    accelerator_seconds: int = 0
    """Every resource with a domain in its name, such as nvidia.com/gpu, times the time it was held."""
    cpu_seconds: int = 0


@dataclass(frozen=True, slots=True)
class PodSetFlavors:
    """How a pod set would be admitted."""

    name: str
    count: int
    flavors: tuple[str, ...] = ()
    places: tuple[PodPlace, ...] = ()
    """In which domains its pods would be, where a topology says so."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """What one worker would do with one Workload."""

    verdict: ForecastVerdict
    made_ns: int
    message: str = ""
    cluster_queue: str = ""
    flavors: Flavors = ()
    borrowing: int | None = None
    victims: tuple[ForecastVictim, ...] = ()
    cost: Cost = Cost()
    labels: tuple[str, ...] = field(default=(), compare=False)
    """What limits the forecast. No part of what is compared: records do not keep it."""
    pod_sets: tuple[PodSetFlavors, ...] = field(default=(), compare=False)
    """Where the pods would go. No part of what is compared: records do not keep it."""
    shortages: tuple[PodSetShortage, ...] = field(default=(), compare=False)
    """Which pod sets have their quota and lack nodes. No part of what is compared: records do not keep it."""
    other_flavors: tuple[Flavors, ...] = ()
    """Those that it may get instead, depending on which of the victims leaves first."""

    @property
    def promises(self) -> bool:
        """Return whether the forecast says one thing that can be right or wrong."""
        return self.verdict in (ForecastVerdict.FITS, ForecastVerdict.PREEMPTS, ForecastVerdict.CANNOT)


_VERDICTS: Final = {
    Outcome.ADMIT: ForecastVerdict.FITS,
    Outcome.PREEMPT: ForecastVerdict.PREEMPTS,
    Outcome.UNSUPPORTED: ForecastVerdict.UNSUPPORTED,
    Outcome.AMBIGUOUS: ForecastVerdict.AMBIGUOUS,
}


def unsupported(why: str, now_ns: int) -> Forecast:
    """Say that there is no forecast, and why."""
    return Forecast(ForecastVerdict.UNSUPPORTED, now_ns, why)


def forecast(cluster: ObservedCluster, key: ObjectKey, now_ns: int, effort: Effort | None = None) -> Forecast:
    """Return what becomes of a Workload that is on the worker, were its gates open; or raise `TooMuchEffortError`."""
    with cluster.model.within(effort or Effort()), WhatIf(cluster.model) as what_if:
        try:
            cluster.model.effort.spend(_steps_to_read(cluster.model.workload(key)))
            what_if.open_gates(key)
            prediction = follow(cluster.model, what_if, key, now_ns)
        except InvalidObjectError as error:
            return unsupported(str(error), now_ns)
    return of_prediction(prediction, cluster, now_ns)


def _steps_to_read(workload: Workload | None) -> int:
    """Return what it takes to read what a waiting Workload asks for, which happens several times."""
    raw = workload.raw if isinstance(workload, PendingWorkload) else None
    return raw.size // BYTES_IN_A_STEP if isinstance(raw, PackedWorkload) else 0


def of_prediction(prediction: Prediction, cluster: ObservedCluster, now_ns: int) -> Forecast:
    """Add to a prediction what people ask about its victims, and what they cost."""
    verdict = _VERDICTS.get(prediction.outcome, ForecastVerdict.CANNOT)
    named = verdict is ForecastVerdict.PREEMPTS
    victims = tuple(
        _victim(cluster, victim.key, victim.cluster_queue, victim.reason)
        for victim in (prediction.victims if named else ())
    )
    leaving = [victim.key for victim in victims if not victim.in_flight]
    flavors = _flavors(prediction)
    return Forecast(
        verdict=verdict,
        made_ns=now_ns,
        message=prediction.message,
        cluster_queue=prediction.cluster_queue,
        flavors=flavors if named or verdict is ForecastVerdict.FITS else (),
        other_flavors=tuple(sorted({_flavors(other) for other in prediction.alternatives} - {flavors}))
        if named
        else (),
        borrowing=prediction.borrowing,
        victims=victims,
        cost=total_cost((cluster.tenants[key] for key in leaving if key in cluster.tenants), now_ns),
        labels=prediction.labels,
        shortages=shortages_of(prediction.pod_sets),
        pod_sets=tuple(
            _pod_set(each, prediction, cluster)
            for each in prediction.pod_sets
            if named or verdict is ForecastVerdict.FITS
        ),
    )


def _pod_set(pod_set: PodSetPrediction, prediction: Prediction, cluster: ObservedCluster) -> PodSetFlavors:
    count = prediction.reduced_counts.get(pod_set.name, pod_set.count)
    flavors = tuple(sorted(set(pod_set.flavors.values())))
    return PodSetFlavors(pod_set.name, count, flavors, places_of(cluster.model, pod_set))


def _flavors(prediction: Prediction) -> Flavors:
    return tuple(sorted({pair for pod_set in prediction.pod_sets for pair in pod_set.flavors.items()}))


def _victim(cluster: ObservedCluster, key: ObjectKey, cluster_queue: str, reason: str) -> ForecastVictim:
    tenant = cluster.tenants[key]
    holder = tenant.workload if isinstance(tenant.workload, AdmittedWorkload) else None
    return ForecastVictim(
        namespace=key.namespace,
        name=key.name,
        uid=tenant.uid,
        cluster_queue=cluster_queue,
        reason=str(reason),
        priority=holder.priority if holder is not None else 0,
        owner=tenant.owner,
        pods=tenant.pods,
        running_since_ns=tenant.running_since_ns,
        preemption_cost=tenant.preemption_cost,
        in_flight=holder is not None and holder.is_evicted,
        places=places_held(cluster.model, holder),
    )


def total_cost(tenants: Iterable[Tenant], now_ns: int) -> Cost:
    """Add up what preempting these workloads destroys."""
    found = list(tenants)
    return Cost(
        preemption_cost=sum(tenant.preemption_cost for tenant in found),
        victims=len(found),
        pods=sum(tenant.pods for tenant in found),
        accelerator_seconds=sum(_held(tenant, now_ns, is_cpu=False) for tenant in found),
        cpu_seconds=sum(_held(tenant, now_ns, is_cpu=True) for tenant in found) // _MILLI,
    )


def _held(tenant: Tenant, now_ns: int, *, is_cpu: bool) -> int:
    """Return amount times whole seconds since the workload runs; processors are counted in thousandths."""
    workload, since = tenant.workload, tenant.running_since_ns
    if since is None or not isinstance(workload, AdmittedWorkload):
        return 0
    seconds = max(0, now_ns - since) // NANOSECONDS
    return seconds * sum(
        amount for fr, amount in workload.usage if (fr.resource == _CPU if is_cpu else "/" in fr.resource)
    )


def flavors_of(tenant: Tenant) -> Flavors:
    """Return the flavors that a workload holds."""
    workload = tenant.workload
    uses = workload.uses if isinstance(workload, AdmittedWorkload) else ()
    return tuple(sorted((fr.resource, fr.flavor) for fr in uses))
