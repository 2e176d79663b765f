"""Whatever a manifest contains: an error that names it, or an object that every leaf of the engine can read."""

import contextlib
import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.objects.activity import KnownChecks, why_inactive
from engine.objects.boost import preemption_cost, priority_boost
from engine.objects.convert import normalize
from engine.objects.unsupported import ClusterFacts, cluster_queue_findings, workload_findings
from engine.objects.validate_objects import check_object, find_errors
from engine.objects.webhook_rules import find_refusals
from engine.placement.node_affinity import AffinityError
from engine.placement.suitability import FlavorPlacement, PodPlacement
from engine.requests.equivalence import equivalence_key
from engine.requests.requests import RequestContext, workload_request
from engine.vocabulary.errors import InvalidObjectError
from engine.vocabulary.features import FeatureGates
from tests.property.odd_objects import CLUSTER_QUEUE, FLAVOR, WORKLOAD, Raw, odd_values, paths

GATES = FeatureGates(priority_boost=True, preemption_cost=True, concurrent_admission=True)
AROUND = ClusterFacts(GATES, configuration={"resources": {"deviceClassMappings": [{}]}, "admissionFairSharing": {}})


@st.composite
def damaged(draw: st.DrawFn, whole: Raw) -> Raw:
    """Return a copy of an object with one to three values replaced by something else."""
    raw = copy.deepcopy(whole)
    for path in draw(st.lists(st.sampled_from(paths(whole)), min_size=1, max_size=3)):
        if path != ("kind",):
            with contextlib.suppress(KeyError, IndexError, TypeError):  # an earlier replacement may have cut the path
                target: Any = raw
                for step in path[:-1]:
                    target = target[step]
                target[path[-1]] = draw(odd_values)
    return raw


def usable(raw: Raw) -> Raw | None:
    """Return the object as the engine reads it, or None when it was refused with errors that name it."""
    errors = find_errors(raw)
    assert all(str(error).startswith(f"{raw['kind']} ") for error in errors)
    if not errors:
        return dict(normalize(raw))
    with pytest.raises(InvalidObjectError):
        check_object(raw)
    return None


@settings(max_examples=100, deadline=None)
@given(damaged(WORKLOAD))
def test_damaged_workload(raw: Raw) -> None:
    normal = usable(raw)
    if normal is None:
        return
    request = workload_request(normal, RequestContext())
    hash(equivalence_key(normal, request, 0, GATES))
    workload_findings(normal, AROUND)
    find_refusals(normal, GATES)
    annotations = normal["metadata"].get("annotations")
    priority_boost(annotations, GATES)
    preemption_cost(annotations, GATES)
    flavor = FlavorPlacement.from_raw(FLAVOR)
    for pod_set in normal["spec"]["podSets"]:
        pod = PodPlacement.from_raw((pod_set.get("template") or {}).get("spec") or {})
        with contextlib.suppress(AffinityError):
            flavor.why_unsuitable(pod)


@settings(max_examples=100, deadline=None)
@given(damaged(CLUSTER_QUEUE))
def test_damaged_cluster_queue(raw: Raw) -> None:
    normal = usable(raw)
    if normal is None:
        return
    find_refusals(normal, GATES)
    cluster_queue_findings(normal, AROUND)
    why_inactive(normal, {"f"}, KnownChecks({"check": "x"}), in_cohort_cycle=False)


@settings(max_examples=100, deadline=None)
@given(damaged(FLAVOR))
def test_damaged_flavor(raw: Raw) -> None:
    normal = usable(raw)
    if normal is not None:
        spec = WORKLOAD["spec"]["podSets"][0]["template"]["spec"]
        FlavorPlacement.from_raw(normal).why_unsuitable(PodPlacement.from_raw(spec))
