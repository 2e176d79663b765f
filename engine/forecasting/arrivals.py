"""What a worker would do with a Workload that it does not have yet, beside others that are on their way to it.

A worker learns of a copy some time after it was decided to send it there. Until then the quota that it is going to take
is held by a promise, so that of many Workloads which arrive at once not all are sent to a worker with room for one.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from config.api.meta import object_key
from engine.forecasting.course import follow
from engine.forecasting.forecast import Forecast, ForecastVerdict, of_prediction, unsupported
from engine.forecasting.observed import ObservedCluster
from engine.objects.workloads import AdmittedWorkload, OrderKey
from engine.prediction.what_if import WhatIf
from engine.topology.usage import TopologyUse
from engine.vocabulary.decision import Prediction
from engine.vocabulary.effort import Effort
from engine.vocabulary.errors import InvalidObjectError


def foresee(
    cluster: ObservedCluster,
    raw: Mapping[str, Any],
    promised: Iterable[AdmittedWorkload],
    now_ns: int,
    effort: Effort | None = None,
) -> tuple[Forecast, AdmittedWorkload | None]:
    """Return the forecast for a copy that is not there, and if it fits, the quota to hold for it.

    Raises `TooMuchEffortError`.
    """
    with cluster.model.within(effort or Effort()):
        prediction = predict_copy(cluster, raw, promised, now_ns)
    if isinstance(prediction, InvalidObjectError):
        return unsupported(str(prediction), now_ns), None
    found = of_copy(prediction, cluster, now_ns)
    return found, _promise(cluster, prediction, raw) if found.verdict is ForecastVerdict.FITS else None


def predict_copy(
    cluster: ObservedCluster,
    raw: Mapping[str, Any],
    promised: Iterable[AdmittedWorkload],
    now_ns: int,
    *,
    explain: bool = False,
) -> Prediction | InvalidObjectError:
    """Return what becomes of a copy that is not there, were it there with its gates open; or what is wrong with it."""
    key = object_key(raw)
    with WhatIf(cluster.model) as what_if:
        try:
            for promise in promised:
                if cluster.model.workload(promise.key) is None:
                    what_if.suppose("Workload", promise.key, promise)
            what_if.add(raw)
            what_if.open_gates(key)
            first = what_if.predict(key, now_ns, explain=True) if explain else None
            found = follow(cluster.model, what_if, key, now_ns)
        except InvalidObjectError as error:
            return error
    if first is None:
        return found
    return replace(found, explanation=first.explanation, alternatives=found.alternatives or first.alternatives)


def of_copy(prediction: Prediction, cluster: ObservedCluster, now_ns: int) -> Forecast:
    """Return the forecast that a prediction for a copy amounts to."""
    return of_prediction(_of_known(prediction, cluster), cluster, now_ns)


def _of_known(prediction: Prediction, cluster: ObservedCluster) -> Prediction:
    """Leave out victims that are only promised: they are not there to be preempted."""
    return replace(prediction, victims=tuple(v for v in prediction.victims if v.key in cluster.tenants))


def _promise(cluster: ObservedCluster, prediction: Prediction, raw: Mapping[str, Any]) -> AdmittedWorkload:
    key = object_key(raw)
    usage: dict[Any, int] = {}
    for pod_set in prediction.pod_sets:
        for resource, flavor in pod_set.flavors.items():
            fr = cluster.model.table.get(flavor, resource)
            usage[fr] = usage.get(fr, 0) + pod_set.usage[resource]
    return AdmittedWorkload(
        key=key,
        cluster_queue=prediction.cluster_queue,
        usage=tuple(usage.items()),
        uses=frozenset(usage),
        priority=0,
        order=OrderKey(0, 0, str(key)),
        queue_time_ns=0,
        is_evicted=False,
        has_ready_pods=False,
        topology=tuple(_places(prediction, raw)),
    )


def _places(prediction: Prediction, raw: Mapping[str, Any]) -> Iterator[TopologyUse]:
    """Yield the room on nodes that the pods are going to take."""
    templates = {each.get("name") or "main": each.get("template") or {} for each in raw["spec"].get("podSets") or ()}
    for pod_set in prediction.pod_sets:
        if pod_set.topology is not None:
            flavors = tuple(dict.fromkeys(pod_set.flavors.values()))
            pod_spec = templates[pod_set.name].get("spec") or {}
            yield TopologyUse(flavors, pod_set.topology.domains, pod_spec, pod_set.name)
