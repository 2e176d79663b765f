"""What an admitted workload holds, read from its status.

Clusters run many workloads of the same shape, so readings are remembered by shape: equal ones share their values and
are computed once.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from config.api.quantity import QuantityError
from engine.requests.requests import count_after_reclaim, read_count, reclaimable_counts, scale_to_count
from engine.versions.amounts import EXACT_AMOUNTS, Amounts
from engine.vocabulary.errors import FieldError
from engine.vocabulary.flavor_resource import FlavorResource, FlavorResourceTable

Usage = tuple[tuple[FlavorResource, int], ...]
"""Amounts by flavor and resource, each at most once."""

_MAX_SHAPES: Final = 1 << 14


class Holding(NamedTuple):
    """What a workload holds, and which flavors and resources it was assigned, used or not."""

    usage: Usage
    uses: frozenset[FlavorResource]


class UsageReader:
    """Reads the usage of admitted workloads."""

    def __init__(
        self, table: FlavorResourceTable, amounts: Amounts = EXACT_AMOUNTS, *, counts_reclaimable_pods: bool
    ) -> None:
        self._amounts = amounts
        self._table = table
        self._counts_reclaimable_pods = counts_reclaimable_pods
        self._by_shape: dict[object, Holding] = {}

    def read(self, raw: Mapping[str, Any]) -> Holding:
        """Return what a raw Workload with an admission holds."""
        reclaimable = reclaimable_counts(raw) if self._counts_reclaimable_pods else {}
        spec_counts = {
            pod_set.get("name") or "main": pod_set.get("count", 1)
            for pod_set in (raw.get("spec") or {}).get("podSets") or ()
        }
        assignments = raw["status"]["admission"].get("podSetAssignments") or ()
        shape = (
            *spec_counts.items(),
            *reclaimable.items(),
            *(_shape(assignment) for assignment in assignments),
        )
        known = self._by_shape.get(shape)
        if known is None:
            if len(self._by_shape) >= _MAX_SHAPES:
                self._by_shape.clear()
            known = self._by_shape[shape] = self._read(assignments, spec_counts, reclaimable)
        return known

    def _read(self, assignments: Any, spec_counts: Mapping[str, int], reclaimable: Mapping[str, int]) -> Holding:
        total: dict[FlavorResource, int] = {}
        uses: set[FlavorResource] = set()
        for index, assignment in enumerate(assignments):
            path = f"status.admission.podSetAssignments[{index}]"
            amounts = self._read_amounts(assignment.get("resourceUsage") or {}, path)
            name = assignment.get("name") or "main"
            spec_count = spec_counts.get(name, 0)
            count = read_count(assignment.get("count"), f"{path}.count", default=spec_count)
            left = count_after_reclaim(spec_count, reclaimable.get(name, 0))
            if left < count:
                amounts = scale_to_count(amounts, count, left, self._amounts)
            for resource, flavor in (assignment.get("flavors") or {}).items():
                fr = self._table.get(flavor, resource)
                uses.add(fr)
                if resource in amounts:
                    total[fr] = self._amounts.add(total.get(fr, 0), amounts[resource])
        return Holding(tuple(total.items()), frozenset(uses))

    def _read_amounts(self, usage: Mapping[str, Any], path: str) -> dict[str, int]:
        try:
            return {resource: self._amounts.usage(resource, value) for resource, value in usage.items()}
        except QuantityError as error:
            raise FieldError(f"{path}.resourceUsage", str(error)) from None


def _shape(assignment: Mapping[str, Any]) -> object:
    return (
        assignment.get("name"),
        assignment.get("count"),
        *(assignment.get("flavors") or {}).items(),
        *(assignment.get("resourceUsage") or {}).items(),
    )
