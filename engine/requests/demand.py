"""What one pod set of a pending workload needs: amounts, and nodes that suit it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from engine.placement.suitability import PodPlacement
from engine.requests.pod_resources import PodResources
from engine.requests.requests import PodSetRequest, WorkloadRequest, scale_to_count
from engine.versions.amounts import EXACT_AMOUNTS, Amounts

_PODS = "pods"


@dataclass(frozen=True, slots=True)
class PodSetDemand:
    """A pod set as flavor assignment sees it."""

    index: int
    name: str
    count: int
    spec_count: int
    min_count: int | None
    requests: Mapping[str, int]
    placement: PodPlacement
    group: str
    """Pod sets of one group share their flavors."""
    pod: PodResources
    """What one pod asks for, before any rule of Kueue's configuration."""
    raw: Mapping[str, Any]
    """The pod set itself."""
    amounts: Amounts = EXACT_AMOUNTS

    def scaled_to(self, count: int) -> Self:
        """Return the demand of another number of pods; a pod set of which nothing is left keeps nothing."""
        if self.count in (0, count):
            return self
        return replace(self, count=count, requests=scale_to_count(self.requests, self.count, count, self.amounts))

    def with_pods(self) -> Self:
        """Return the demand with the number of pods counted as a resource."""
        return replace(self, requests={**self.requests, _PODS: self.count})


def pod_set_demands(raw: Mapping[str, Any], request: WorkloadRequest) -> tuple[PodSetDemand, ...]:
    """Join the computed requests of a raw Workload with what its pod templates say about nodes."""
    pod_sets = (raw.get("spec") or {}).get("podSets") or ()
    return tuple(
        _demand(index, pod_set, asked, pod, request.amounts)
        for index, (pod_set, asked, pod) in enumerate(zip(pod_sets, request.pod_sets, request.pods, strict=True))
    )


def _demand(
    index: int, pod_set: Mapping[str, Any], asked: PodSetRequest, pod: PodResources, amounts: Amounts
) -> PodSetDemand:
    group = (pod_set.get("topologyRequest") or {}).get("podSetGroupName")
    return PodSetDemand(
        index=index,
        name=asked.name,
        count=asked.count,
        spec_count=asked.spec_count,
        min_count=asked.min_count,
        requests=asked.requests,
        placement=PodPlacement.from_raw((pod_set.get("template") or {}).get("spec") or {}),
        group=group if group is not None else f"#{index}",
        pod=pod,
        raw=pod_set,
        amounts=amounts,
    )
