"""Answers recorded from the Go packages of Kueue v0.19.1 and Kubernetes v1.36.3, asked of our own leaf modules."""

import gzip
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from config.api.meta import SelectorError, matches_selector
from config.api.quantity import (
    QuantityError,
    add,
    canonical_text,
    format_amount,
    format_request,
    quota_amount,
    request_amount,
    sub,
)
from engine.placement.node_affinity import AffinityError
from engine.placement.suitability import FlavorPlacement, PodPlacement
from engine.requests.equivalence import equivalence_key
from engine.requests.limit_ranges import LimitRangeSummary
from engine.requests.pod_resources import read_resource_list
from engine.requests.requests import RequestContext, workload_request
from engine.requests.resource_order import hash_order
from engine.requests.transformations import ResourceRules
from engine.vocabulary.features import FeatureGates

Ask = Mapping[str, Any]
RECORDED: Final = [
    json.loads(line)
    for line in gzip.decompress((Path(__file__).parent / "recorded" / "leaves.jsonl.gz").read_bytes()).splitlines()
]


def _quantity(ask: Ask) -> object:
    text = ask["s"]
    try:
        amounts = {
            "cpu": request_amount("cpu", text),
            "mem": request_amount("memory", text),
            "qcpu": quota_amount("cpu", text),
            "qmem": quota_amount("memory", text),
        }
    except QuantityError:
        return "refused"
    return amounts | ({} if _has_lost_suffix(text) else {"canon": json.dumps(canonical_text(text))})


def _has_lost_suffix(text: str) -> bool:
    """Return whether a quantity is so large that Kubernetes writes it without its exponent."""
    return re.search(r"[eE]\+?\d\d", text) is not None or len(text) > 18


def _quantity_answer(ask: Ask, answer: Ask) -> object:
    if "err" in answer:
        return "refused"
    dropped = {"dec", "canon"} if _has_lost_suffix(ask["s"]) else {"dec"}
    return {key: value for key, value in answer.items() if key not in dropped}


def _format(ask: Ask) -> object:
    resource, amount = ask["resource"], ask["v"]
    return {"s": format_amount(resource, amount), "r": format_request(resource, amount)}


def _arithmetic(ask: Ask) -> object:
    return {"add": add(ask["a"], ask["b"]), "sub": sub(ask["a"], ask["b"])}


def _order(ask: Ask) -> object:
    return {"order": hash_order(ask["names"])}


def _suitability(ask: Ask) -> object:
    flavor, pod = FlavorPlacement.from_raw(ask["flavor"]), PodPlacement.from_raw(ask["pod"])
    try:
        reason = flavor.why_unsuitable(pod)
    except AffinityError as error:
        return {"err": str(error)}
    return {"ok": True} if reason is None else {"reason": reason}


def _selector(ask: Ask) -> object:
    try:
        return {"match": matches_selector(ask["selector"], ask["labels"])}
    except SelectorError:
        return "refused"


def _selector_answer(_ask: Ask, answer: Ask) -> object:
    return "refused" if "err" in answer else answer


def _requests(ask: Ask) -> object:
    rules = ResourceRules.from_raw({"excludeResourcePrefixes": ask["exclude"], "transformations": ask["trans"]})
    overheads = {
        raw["metadata"]["name"]: read_resource_list((raw.get("overhead") or {}).get("podFixed"), "overhead.podFixed")
        for raw in ask["classes"]
    }
    context = RequestContext(rules, LimitRangeSummary.of(ask["ranges"]), overheads)
    request = workload_request(ask["workload"], context)
    pod_sets = [
        {"name": pod_set.name, "count": pod_set.count, "requests": pod_set.requests} for pod_set in request.pod_sets
    ]
    return {"podsets": pod_sets} | ({} if request.inadmissible is None else {"inadmissible": request.inadmissible})


def _equivalence(ask: Ask) -> object:
    def key(workload: Ask) -> object:
        request = workload_request(workload, RequestContext())
        return equivalence_key(workload, request, workload["spec"].get("priority", 0), FeatureGates())

    return {"equal": key(ask["workload"]) == key(ask["workload2"])}


OURS: Final[Mapping[str, Callable[[Ask], object]]] = {
    "quantity": _quantity,
    "format": _format,
    "arith": _arithmetic,
    "order": _order,
    "suit": _suitability,
    "selector": _selector,
    "podsets": _requests,
    "hash": _equivalence,
}
THEIRS: Final[Mapping[str, Callable[[Ask, Ask], object]]] = {
    "quantity": _quantity_answer,
    "selector": _selector_answer,
}


@pytest.mark.parametrize(
    "record", RECORDED, ids=[f"{record['ask']['op']}-{index}" for index, record in enumerate(RECORDED)]
)
def test_leaf_answers_as_the_real_packages_did(record: Mapping[str, Ask]) -> None:
    ask, answer = record["ask"], record["answer"]
    read_answer = THEIRS.get(ask["op"])
    assert OURS[ask["op"]](ask) == (answer if read_answer is None else read_answer(ask, answer))
