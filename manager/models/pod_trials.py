"""What was seen of the pods of one Workload since its gate was opened, and which evictions are laid to it."""

from collections.abc import Callable
from dataclasses import dataclass, field

from config.api.meta import ObjectKey
from engine.pod_outlook.values import PodOutlook
from engine.pods.state.model import PodModel
from engine.pods.values.values import BoundPod, PendingPod
from engine.vocabulary.effort import Effort
from gates.model.pod_records import PodRecord


@dataclass(slots=True)
class PodTrial:
    """Pods under verification."""

    uid: str
    lists: int
    ask: Callable[[PodModel, Effort], PodOutlook] | None
    """Makes the outlook again, None when what it was made of is not known any longer."""
    again: PodOutlook | None = None
    is_awaited: bool = False
    """It is being made again."""
    missed: str = ""
    placed: set[ObjectKey] = field(default_factory=set)
    nodes: set[str] = field(default_factory=set)
    evicted: dict[ObjectKey, tuple[str, str, int]] = field(default_factory=dict)
    """Node, PodGroup and time of each eviction on the worker."""

    def note_eviction(self, key: ObjectKey, pod: BoundPod, evicted_ns: int) -> None:
        """Take note of an eviction on the worker."""
        group = pod.group.name if pod.group is not None else ""
        self.evicted.setdefault(key, (pod.node, group, evicted_ns))

    def note_place(self, pod: BoundPod | PendingPod) -> bool:
        """Take note of where a pod of the Workload is or will be; return whether it is news that it has a node."""
        if not isinstance(pod, BoundPod):
            self.nodes |= {pod.nominated_node} if pod.nominated_node else set()
            return False
        is_news = pod.key not in self.placed
        self.placed.add(pod.key)
        self.nodes.add(pod.node)
        return is_news


def evictions_of(trial: PodTrial, record: PodRecord, since_ns: int) -> tuple[str, ...]:
    """Return the evictions that are laid to a Workload, whole groups included."""
    promised = {name for outcome in record.outlook.outcomes for name in outcome.evicted}
    recent = {key: (node, group) for key, (node, group, at_ns) in trial.evicted.items() if at_ns >= since_ns}
    near = {key for key, (node, _) in recent.items() if node in trial.nodes or str(key) in promised}
    groups = {(key.namespace, recent[key][1]) for key in near if recent[key][1]}
    return tuple(sorted(str(key) for key in recent if key in near or (key.namespace, recent[key][1]) in groups))
