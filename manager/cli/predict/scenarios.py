"""Scenarios of `turnstile predict --batch`: a set of API objects, the clock and one pending workload."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from config.api.meta import ObjectKey, parse_time
from engine.cluster.model import ClusterModel
from engine.cluster.queueing import QueueRefusal, enter_unchecked
from engine.objects.configuration import FairSharing, KueueConfiguration, RequeuingTimestamp, read_requeuing_timestamp
from engine.objects.validate_objects import find_errors
from engine.objects.workloads import PendingWorkload
from engine.prediction.predict import judge, predict
from engine.reporting.caveats import caveats_of
from engine.requests.transformations import ResourceRules
from engine.search.nomination import NominationSearch
from engine.versions.profiles import profile_of
from engine.vocabulary.assignment import (
    Assignment,
    AssignmentMode,
    FlavorChoice,
    PodSetAssignment,
    has_untried_flavors,
)
from engine.vocabulary.decision import Outcome, Prediction
from engine.vocabulary.errors import FieldError

_KNOWN_TO_THE_SCHEDULER: Final = "spec.preemption.reclaimWithinCohort"
"""The API refuses LowerOrNewerEqualPriority here, Kueue's scheduler understands it, and scenarios may use it."""


_MAX_ATTEMPTS: Final = 100


class ScenarioError(ValueError):
    """A scenario that does not say what it must."""


def answer(scenario: Mapping[str, Any], kueue_version: str | None = None) -> dict[str, Any]:
    """Answer a scenario, by the version of Kueue that it names; raises `ValueError` for one that cannot be used."""
    is_given = scenario.get("assignment") is not None
    prediction = _predict({"kueueVersion": kueue_version, **scenario})
    answered: dict[str, Any] = {"expect": _as_expect(prediction, is_given=is_given)}
    return {**answered, "labels": list(prediction.labels)} if prediction.labels else answered


def _predict(scenario: Mapping[str, Any]) -> Prediction:
    incoming = _mapping(scenario.get("incoming"), "incoming")
    key = ObjectKey(str(incoming.get("namespace") or ""), str(incoming.get("name") or ""))
    model = ClusterModel.of(_objects(scenario), _configuration(scenario), sees_topology=True)
    now_ns = _time(scenario.get("now"))
    given = scenario.get("assignment")
    if given is None:
        prediction = predict(model, key, now_ns, as_head=True)
        for _ in range(1, _attempts(scenario)):
            prediction = predict(model, key, now_ns, as_head=True, memory=prediction.scan_memory)
        return prediction
    return _with_given_flavors(model, key, now_ns, _mapping(given, "assignment"))


def _mapping(value: object, field: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ScenarioError(f"{field}: is missing or not an object")
    return value


def _attempts(scenario: Mapping[str, Any]) -> int:
    attempts = scenario.get("attempts", 1)
    if not isinstance(attempts, int) or isinstance(attempts, bool) or attempts not in range(1, _MAX_ATTEMPTS + 1):
        raise ScenarioError(f"attempts: {attempts!r} is not allowed: must be a whole number from 1 to {_MAX_ATTEMPTS}")
    return attempts


def _time(value: object) -> int:
    try:
        return parse_time(str(value))
    except ValueError as error:
        raise ScenarioError(f"now: {error}") from None


def _objects(scenario: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    objects = scenario.get("objects")
    if not isinstance(objects, list):
        raise ScenarioError("objects: is missing or not a list")
    for index, raw in enumerate(objects):
        if not isinstance(raw, dict):
            raise ScenarioError(f"objects[{index}]: is not an object")
        for error in find_errors(raw):
            if error.error.field != _KNOWN_TO_THE_SCHEDULER:
                raise error
    return objects


def _configuration(scenario: Mapping[str, Any]) -> KueueConfiguration:
    fair_sharing = scenario.get("fairSharing")
    timestamp = scenario.get("requeuingTimestamp") or RequeuingTimestamp.EVICTION
    version = scenario.get("kueueVersion")
    if version is not None and not isinstance(version, str):
        raise ScenarioError(f"kueueVersion: {version!r} is not allowed: must be like v0.19.2")
    profile = profile_of(version)
    gates = _mapping(scenario.get("featureGates") or {}, "featureGates")
    return replace(
        KueueConfiguration.from_raw({}, gates, profile),
        fair_sharing=None if fair_sharing is None else FairSharing.from_raw(_mapping(fair_sharing, "fairSharing")),
        requeuing_timestamp=read_requeuing_timestamp(timestamp, "requeuingTimestamp"),
        resource_rules=ResourceRules.from_raw(_mapping(scenario.get("resources") or {}, "resources")),
    )


def _with_given_flavors(model: ClusterModel, key: ObjectKey, now_ns: int, given: Mapping[str, Any]) -> Prediction:
    """Search only for targets: the flavors, and which of them need preemption, are given."""
    workload = model.workload(key)
    if not isinstance(workload, PendingWorkload):
        return predict(model, key, now_ns)
    entry = enter_unchecked(model, workload)
    if isinstance(entry, QueueRefusal):
        return Prediction(key, entry.outcome, entry.message, entry.cluster_queue)
    pod_sets = tuple(
        PodSetAssignment(
            demand.name,
            demand.count,
            _given_choices(given.get(demand.name) or {}, f"assignment.{demand.name}"),
            demand.requests,
            reasons=("given",),
        )
        for demand in entry.demands
    )
    assignment = Assignment(pod_sets)
    nomination = NominationSearch(model, workload, entry.queue, entry.spec, entry.demands, now_ns)
    prediction = judge(model, entry, (assignment, nomination.targets_for(assignment)))
    return replace(prediction, labels=caveats_of(model, entry).labels)


def _given_choices(given: object, path: str) -> dict[str, FlavorChoice]:
    modes = {str(mode): mode for mode in AssignmentMode}
    choices: dict[str, FlavorChoice] = {}
    for resource, value in _mapping(given, path).items():
        choice = _mapping(value, f"{path}.{resource}")
        mode = choice.get("mode")
        if mode not in modes:
            raise FieldError.not_allowed(f"{path}.{resource}.mode", mode, list(modes))
        choices[resource] = FlavorChoice(str(choice.get("flavor")), modes[mode], borrow_level=0)
    return choices


def _topology(prediction: Prediction) -> dict[str, Any]:
    """Return what a scenario with topologies is answered in addition."""
    placed = {
        pod_set.name: {
            "levels": list(pod_set.topology.levels),
            "domains": [{"values": list(values), "count": count} for values, count in pod_set.topology.domains],
        }
        for pod_set in prediction.pod_sets
        if pod_set.topology is not None
    }
    delayed = {each.name: each.delayed_topology for each in prediction.pod_sets if each.delayed_topology is not None}
    found: dict[str, Any] = {
        "topology": placed,
        "delayedTopology": delayed,
        "podSetModes": {pod_set.name: str(pod_set.mode) for pod_set in prediction.pod_sets},
        "fits": prediction.fits,
        "message": prediction.nomination_message,
        "pendingFlavors": has_untried_flavors(prediction.scan_memory),
    }
    if prediction.mode is AssignmentMode.NO_FIT:
        del found["delayedTopology"]
    return {key: value for key, value in found.items() if value}


def _as_expect(prediction: Prediction, *, is_given: bool = False) -> dict[str, Any]:
    is_no_fit = prediction.mode is AssignmentMode.NO_FIT
    expect: dict[str, Any] = {
        "mode": str(prediction.mode),
        "flavors": {} if is_no_fit else {pod_set.name: pod_set.flavors for pod_set in prediction.pod_sets},
        "borrowing": None if is_given else prediction.borrowing,
        "targets": [
            {"namespace": victim.key.namespace, "name": victim.key.name, "reason": victim.reason}
            for victim in prediction.victims
        ],
    }
    if prediction.reduced_counts:
        expect["counts"] = prediction.reduced_counts
    expect |= _topology(prediction)
    if prediction.outcome in (Outcome.INADMISSIBLE, Outcome.NOT_QUEUED):
        expect["inadmissible"] = prediction.message
    if prediction.outcome is Outcome.UNSUPPORTED:
        expect["unsupported"] = prediction.message
    if prediction.alternatives:
        expect["ambiguous"] = [_as_expect(alternative) for alternative in prediction.alternatives]
    return expect
