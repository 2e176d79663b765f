"""Topology fields of a Workload: what a pod set asks for, and where its pods were placed."""

from typing import Any

from localcluster.kinds.schema import Schema, SchemaRule
from localcluster.kinds.structural.builder import boolean, int32, list_of, obj, string

_ONE_OF_TWO = "exactly one of the fields in [universal individual] must be set"


def _has_exactly_one(value: dict[str, Any], _old: Any) -> bool:
    return ("universal" in value) != ("individual" in value)


def _counts_cover_domains(placed: dict[str, Any], _old: Any) -> bool:
    counts = placed["podCounts"].get("individual")
    return counts is None or len(counts) == placed["domainCount"]


def _values_cover_domains(placed: dict[str, Any], _old: Any) -> bool:
    return all(
        "individual" not in level or len(level["individual"]["roots"]) == placed["domainCount"]
        for level in placed["valuesPerLevel"]
    )


def _slices_cover_levels(assignment: dict[str, Any], _old: Any) -> bool:
    return all(len(placed["valuesPerLevel"]) == len(assignment["levels"]) for placed in assignment["slices"])


def topology_request() -> Schema:
    """Describe the topology that a pod set asks for."""
    constraint = obj({"topology": string(least=1, most=63), "size": int32(least=1)}, required=("size", "topology"))
    return obj(
        {
            "required": string(most=63),
            "preferred": string(most=63),
            "unconstrained": boolean(),
            "podIndexLabel": string(most=317),
            "subGroupIndexLabel": string(most=317),
            "subGroupCount": int32(),
            "podSetGroupName": string(most=256),
            "podSetSliceRequiredTopology": string(most=63),
            "podSetSliceSize": int32(),
            "podsetSliceRequiredTopologyConstraints": list_of(constraint, most=3),
        }
    )


def topology_assignment() -> Schema:
    """Describe the domains that a pod set's pods were assigned to."""
    return obj(
        {
            "levels": list_of(string(most=317), least=1, most=16),
            "slices": list_of(_slice(), most=1000),
        },
        required=("levels", "slices"),
        invariants=(
            SchemaRule(
                "valuesPerLevel must have the same length as the number of levels in this TopologyAssignment",
                _slices_cover_levels,
            ),
        ),
    )


def _slice() -> Schema:
    roots = obj(
        {
            "prefix": string(most=63),
            "suffix": string(most=63),
            "roots": list_of(string(most=63), least=1, most=100000),
        },
        required=("roots",),
    )
    level_values = obj(
        {"universal": string(most=63), "individual": roots}, invariants=(SchemaRule(_ONE_OF_TWO, _has_exactly_one),)
    )
    pod_counts = obj(
        {"universal": int32(least=1), "individual": list_of(int32(least=1), least=1, most=100000)},
        invariants=(SchemaRule(_ONE_OF_TWO, _has_exactly_one),),
    )
    return obj(
        {
            "domainCount": int32(least=1),
            "podCounts": pod_counts,
            "valuesPerLevel": list_of(level_values, least=1, most=16),
        },
        required=("domainCount", "podCounts", "valuesPerLevel"),
        invariants=(
            SchemaRule("podCounts.individual must have length equal to domainCount", _counts_cover_domains),
            SchemaRule(
                "valuesPerLevel.individual, if set, must have roots of length equal to domainCount "
                "of this TopologyAssignmentSlice",
                _values_cover_domains,
            ),
        ),
    )
