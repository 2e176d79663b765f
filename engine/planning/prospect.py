"""What one worker would do with a job that it does not have: its forecast, and what is missing where it does not fit.

The forecast is the one that the daemon makes for a copy, so that a plan and what happens after a submission cannot
differ for any reason but a change of the cluster. What the pods would do to other pods is added
by the caller, which knows the nodes.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from config.api.meta import ObjectKey, Raw
from engine.forecasting.arrivals import of_copy, predict_copy
from engine.forecasting.forecast import Forecast, ForecastVerdict, unsupported
from engine.forecasting.observed import ObservedCluster
from engine.objects.workloads import AdmittedWorkload
from engine.pod_outlook.values import PodOutlook
from engine.reporting.explanation import ResourceTrial, UnsuitableFlavor
from engine.vocabulary.decision import Outcome, Prediction
from engine.vocabulary.errors import InvalidObjectError


@dataclass(frozen=True, slots=True)
class Shortfall:
    """By how much one resource of a pod set does not fit in one flavor; amounts are the engine's integers."""

    pod_set: str
    flavor: str
    resource: str
    missing: int
    """How much more would have to be free now."""
    over_capacity: int
    """How much more than there would be if everything were free; 0 says that it could fit some day."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """What one worker would do."""

    forecast: Forecast
    shortfalls: tuple[Shortfall, ...] = ()
    unsuitable: tuple[str, ...] = ()
    """Why flavors do not suit the pods at all."""
    decided_costs: Mapping[ObjectKey, int] | None = None
    """The preemption costs of the victims that entered the decision; None where costs do not count."""
    reduced: Mapping[str, int] | None = None
    """Pod sets that would run with fewer pods than asked for."""
    notes: tuple[str, ...] = ()
    """What else there is to say, each a sentence."""
    pods: PodOutlook | None = None
    """What would become of the pods once the quota is there; None where pods are not followed, or would not come."""


def look_ahead(cluster: ObservedCluster, raw: Raw, promised: Iterable[AdmittedWorkload], now_ns: int) -> Outlook:
    """Return what the worker would do with a Workload that is not there."""
    prediction = predict_copy(cluster, raw, promised, now_ns, explain=True)
    if isinstance(prediction, InvalidObjectError):
        return Outlook(unsupported(str(prediction), now_ns))
    has_costs = cluster.model.configuration.gates.preemption_cost
    steps = prediction.explanation.steps if prediction.explanation is not None else ()
    return Outlook(
        forecast=of_copy(prediction, cluster, now_ns),
        shortfalls=_shortfalls(step for step in steps if isinstance(step, ResourceTrial)),
        unsuitable=tuple(dict.fromkeys(step.reason for step in steps if isinstance(step, UnsuitableFlavor))),
        decided_costs={victim.key: victim.cost for victim in prediction.victims} if has_costs else None,
        reduced=dict(prediction.reduced_counts) or None,
        notes=_alternatives(prediction),
    )


def verdict_on(
    cluster: ObservedCluster, raw: Raw, promised: Iterable[AdmittedWorkload], now_ns: int
) -> ForecastVerdict:
    """Return in one word what the worker would do."""
    prediction = predict_copy(cluster, raw, promised, now_ns)
    if isinstance(prediction, InvalidObjectError):
        return ForecastVerdict.UNSUPPORTED
    return of_copy(prediction, cluster, now_ns).verdict


def _shortfalls(trials: Iterable[ResourceTrial]) -> tuple[Shortfall, ...]:
    """Return what was missing when the whole job was tried; smaller sizes that were tried after it do not count."""
    found: dict[tuple[tuple[str, ...], str, str], Shortfall] = {}
    for trial in trials:
        place = (trial.pod_sets, trial.flavor, trial.resource)
        if place in found:
            continue
        wanted = trial.assumed + trial.requested
        found[place] = Shortfall(
            ", ".join(trial.pod_sets), trial.flavor, trial.resource, trial.missing, max(0, wanted - trial.potential)
        )
    return tuple(each for each in found.values() if each.missing)


def _alternatives(prediction: Prediction) -> tuple[str, ...]:
    if prediction.outcome is not Outcome.AMBIGUOUS:
        return ()
    return tuple(
        f"possibility {number}: {each.outcome}, victims {', '.join(str(v.key) for v in each.victims) or 'none'}"
        for number, each in enumerate(prediction.alternatives, start=1)
    )
