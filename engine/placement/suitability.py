"""Does a flavor suit a pod set? Taints, node selector and required node affinity, in Kueue's order.

Both sides are read from raw objects once. What a flavor can decide on its own is decided then: taints that its own
tolerations answer are gone, and a flavor without taints accepts a pod without constraints at once.
"""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, Self

from engine.placement.node_affinity import Term, matches_any, read_required_terms, restrict
from engine.placement.taints import Taint, Toleration, first_untolerated, read_hard_taints, read_tolerations


@dataclass(frozen=True, slots=True)
class PodPlacement:
    """What a pod set says about the nodes it can run on."""

    tolerations: tuple[Toleration, ...] = ()
    node_selector: tuple[tuple[str, str], ...] = ()
    required_terms: tuple[Term, ...] = ()

    @classmethod
    def from_raw(cls, pod_spec: Mapping[str, Any]) -> Self:
        """Read a raw pod spec."""
        return cls(
            tolerations=read_tolerations(pod_spec.get("tolerations")),
            node_selector=tuple((pod_spec.get("nodeSelector") or {}).items()),
            required_terms=read_required_terms(pod_spec),
        )


@dataclass(frozen=True, slots=True)
class FlavorPlacement:
    """What a flavor's nodes look like; `taints` are those that a pod has to tolerate by itself."""

    name: str
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    topology_name: str | None
    tolerations: tuple[Toleration, ...] = ()
    """What its pods are given to tolerate."""

    @classmethod
    def from_raw(cls, flavor: Mapping[str, Any]) -> Self:
        """Read a raw ResourceFlavor."""
        spec = flavor.get("spec") or {}
        own = read_tolerations(spec.get("tolerations"))
        return cls(
            name=flavor["metadata"]["name"],
            labels=spec.get("nodeLabels") or {},
            taints=tuple(
                taint for taint in read_hard_taints(spec.get("nodeTaints")) if first_untolerated((taint,), own)
            ),
            topology_name=spec.get("topologyName"),
            tolerations=own,
        )

    def why_unsuitable(self, pod: PodPlacement, label_keys: AbstractSet[str] | None = None) -> str | None:
        """Return Kueue's reason against the flavor, or None; raise AffinityError when the affinity is malformed.

        Of what the pod asks of its node only these labels count: by default those that the flavor has.
        """
        if self.taints:
            taint = first_untolerated(self.taints, pod.tolerations)
            if taint is not None:
                return f"untolerated taint {taint} in flavor {self.name}"
        if (pod.node_selector or pod.required_terms) and not self._matches_affinity(pod, label_keys):
            return f"flavor {self.name} doesn't match node affinity"
        return None

    def _matches_affinity(self, pod: PodPlacement, label_keys: AbstractSet[str] | None) -> bool:
        labels = self.labels
        keys = labels.keys() if label_keys is None else label_keys
        if any(key in keys and labels.get(key) != value for key, value in pod.node_selector):
            return False
        terms = restrict(pod.required_terms, keys)
        return not terms or matches_any(terms, labels)


def why_topology_mismatches(flavor: FlavorPlacement, *, is_queue_topology_only: bool) -> str | None:
    """Return Kueue's reason against a flavor with a topology for a pod set that asks for none."""
    if flavor.topology_name is None or is_queue_topology_only:
        return None
    return f'Flavor "{flavor.name}" supports only TopologyAwareScheduling'


def flavor_not_found(name: str) -> str:
    """Return the reason against a flavor that has no object."""
    return f"flavor {name} not found"
