"""What is to be said about the pods of one Workload on one worker, and what was seen of them after a gate was opened.

Brings together what the two observations of a worker know: flavors, victims and owners from the one, nodes and pods
from the other. An eviction is laid to a Workload when it happened on a node that one of its pods has, or was promised.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

import orjson

from config.api.meta import ObjectKey
from engine.forecasting.forecast import Forecast, ForecastVictim, Verdict
from engine.forecasting.observed import ObservedCluster
from engine.outlook.arrivals import MOST_PODS, AssignedPods, arriving_pods
from engine.outlook.judging import Landed
from engine.outlook.outlook import pod_outlook
from engine.outlook.values import PodOutlook, unsupported
from engine.pods.model import PodModel
from engine.pods.values import BoundPod, PendingPod
from gates.pod_records import PodRecord, PodWitness
from gates.records import HubRecord
from gates.settings import SECOND
from manager.pod_observation import OnPod, PodObservation
from manager.watched_pods import WatchedPod
from workerclient.kind import Key

_STILL_GOOD_NS: Final = SECOND
"""How long an outlook stands although pods change: on a busy worker they always do."""
_CLOCK_GRAIN_NS: Final = 2 * SECOND
"""Objects state times in whole seconds."""
_REMEMBERED: Final = 8
"""Of how many outlooks for a Workload it is known what they were made of."""
_QUOTA_IS_THERE: Final = (Verdict.FITS, Verdict.PREEMPTS)


@dataclass(slots=True)
class _Trial:
    """Pods under verification."""

    uid: str
    lists: int
    ask: Callable[[], PodOutlook] | None
    """Makes the outlook anew, None when what it was made of is not known any longer."""
    anew: PodOutlook | None = None
    placed: set[ObjectKey] = field(default_factory=set)
    nodes: set[str] = field(default_factory=set)
    evicted: dict[ObjectKey, tuple[str, str, int]] = field(default_factory=dict)
    """Node, PodGroup and time of each eviction on the worker."""


class PodForecasts:
    """Outlooks and trials of one worker."""

    def __init__(
        self,
        cluster: ObservedCluster,
        on_progress: Callable[[str, Key], None],
        observe: Callable[[OnPod], PodObservation],
    ) -> None:
        self._cluster = cluster
        self._on_progress = on_progress
        self._trials: dict[Key, _Trial] = {}
        self._answers: dict[Key, tuple[int, Forecast, PodOutlook]] = {}
        self._asked: dict[Key, deque[tuple[int, Forecast]]] = {}
        self.observation = observe(self.note_pod)

    def outlook(self, hub: HubRecord, forecast: Forecast | None, now_ns: int, skew_ns: int) -> PodOutlook | None:
        """Return what becomes of a Workload's pods once the quota is there; None where it would not be."""
        if forecast is None or forecast.verdict not in _QUOTA_IS_THERE:
            return None
        why = self.observation.why_silent()
        if why:
            return unsupported(why, now_ns)
        key = Key(hub.namespace, hub.name)
        version, asked, known = self._answers.get(key, (-1, None, None))
        is_same = known is not None and asked is not None and replace(asked, made_ns=0) == replace(forecast, made_ns=0)
        is_current = version == self.observation.version
        if known is not None and is_same and (is_current or now_ns - known.made_ns < _STILL_GOOD_NS):
            return known
        found = replace(self._ask(hub, forecast, now_ns + skew_ns), made_ns=now_ns)
        self._answers[key] = (self.observation.version, forecast, found)
        self._asked.setdefault(key, deque(maxlen=_REMEMBERED)).append((now_ns, forecast))
        return found

    def foresee(self, workload: Mapping[str, Any], forecast: Forecast, now_ns: int) -> PodOutlook | None:
        """Return what would become of the pods of a Workload that nobody submitted, on the worker's clock."""
        if forecast.verdict not in _QUOTA_IS_THERE:
            return None
        why = self.observation.why_silent()
        if why:
            return unsupported(why, now_ns)
        metadata = workload["metadata"]
        key = ObjectKey(str(metadata["namespace"]), str(metadata["name"]))
        return self._of_pod_sets(key, workload["spec"]["podSets"], forecast, now_ns)

    def witness(self, hub: HubRecord, record: PodRecord, uid: str, opened_ns: int, skew_ns: int) -> PodWitness | None:
        """Return what was seen of the pods since a gate was opened; None while nodes and pods are not known."""
        key = Key(hub.namespace, hub.name)
        trial = self._trials.get(key)
        if trial is None or trial.uid != uid:
            trial = self._trials[key] = self._begin(hub, record, uid)
        if self.observation.why_silent():
            return None
        if trial.ask is None or trial.lists != self.observation.lists:
            return PodWitness(missed="not all evictions were seen: the daemon was not connected all the time")
        since = opened_ns + skew_ns - _CLOCK_GRAIN_NS
        return PodWitness(Landed(_ours(trial, record, since), len(trial.placed)), trial.anew)

    def forget(self, key: Key) -> None:
        """Keep nothing of a Workload."""
        self._trials.pop(key, None)
        self._answers.pop(key, None)
        self._asked.pop(key, None)

    def end_trial(self, key: Key) -> None:
        """Follow no pods any longer for a Workload whose outlook was judged."""
        self._trials.pop(key, None)

    def note_pod(self, key: ObjectKey, value: WatchedPod | None) -> None:
        """Take a change of a pod."""
        for workload, trial in list(self._trials.items()):
            if value is None or value.pod is None:
                continue
            pod = value.pod
            if value.evicted_ns and isinstance(pod, BoundPod):
                group = pod.group.name if pod.group is not None else ""
                trial.evicted.setdefault(key, (pod.node, group, value.evicted_ns))
            if self.observation.places.is_of(key, ObjectKey(*workload), self._owner(ObjectKey(*workload))):
                self._note_own(workload, trial, pod)

    def _note_own(self, workload: Key, trial: _Trial, pod: BoundPod | PendingPod) -> None:
        if trial.anew is None and trial.ask is not None and not trial.placed:
            trial.anew = trial.ask()
        if isinstance(pod, BoundPod):
            if pod.key not in trial.placed:
                trial.placed.add(pod.key)
                self._on_progress(self.observation.name, workload)
            trial.nodes.add(pod.node)
        elif pod.nominated_node:
            trial.nodes.add(pod.nominated_node)

    def _begin(self, hub: HubRecord, record: PodRecord, uid: str) -> _Trial:
        """Start a trial; one that begins without knowing how its outlook was made cannot be completed."""
        made_ns = record.outlook.made_ns
        asked = dict(self._asked.get(Key(hub.namespace, hub.name), ())).get(made_ns)
        ask = None if asked is None else partial(self._ask, hub, asked, made_ns)
        return _Trial(uid, self.observation.lists, ask)

    def _ask(self, hub: HubRecord, forecast: Forecast, now_ns: int) -> PodOutlook:
        if not hub.document:
            why = "the pod templates of the Workload are not known"
            return unsupported(why, now_ns, str(self.observation.mode))
        pod_sets = orjson.loads(hub.document)["spec"].get("podSets") or []
        return self._of_pod_sets(ObjectKey(hub.namespace, hub.name), pod_sets, forecast, now_ns)

    def _of_pod_sets(
        self, key: ObjectKey, pod_sets: Sequence[Mapping[str, Any]], forecast: Forecast, now_ns: int
    ) -> PodOutlook:
        model, mode = self.observation.model, self.observation.mode
        if sum(each.count for each in forecast.pod_sets) > MOST_PODS:
            return unsupported(f"more than {MOST_PODS} pods", now_ns, str(mode))
        assigned = [AssignedPods(each.name, each.count, self._flavors(each.flavors)) for each in forecast.pod_sets]
        own = set(self.observation.pods_of(key, self._owner(key)))
        leaving = [pod for victim in forecast.victims for pod in self._pods_of(victim)]
        try:
            arriving = arriving_pods(model, key, pod_sets, assigned, now_ns)
            return pod_outlook(_without(model, own), arriving, mode, now_ns, leaving)
        except ValueError as error:
            return unsupported(str(error), now_ns, str(mode))

    def _flavors(self, names: tuple[str, ...]) -> tuple[Any, ...]:
        found = (self._cluster.model.flavor(name) for name in names)
        return tuple(flavor for flavor in found if flavor is not None)

    def _pods_of(self, victim: ForecastVictim) -> list[ObjectKey]:
        found = list(self.observation.pods_of(victim.key, victim.owner))
        if not found and victim.pods and victim.owner and not victim.owner.startswith("Job "):
            raise ValueError(f"the pods of {victim.namespace}/{victim.name} ({victim.owner}) do not say whose they are")
        return found

    def _owner(self, key: ObjectKey) -> str:
        tenant = self._cluster.tenant(key)
        return tenant.owner if tenant is not None else ""


def _without(model: PodModel, pods: Iterable[ObjectKey]) -> PodModel:
    """Return the model as it was before these pods came."""
    fork = model.fork()
    for key in pods:
        fork.put_pod(key, None)
    return fork


def _ours(trial: _Trial, record: PodRecord, since_ns: int) -> tuple[str, ...]:
    """Return the evictions that are laid to a Workload, whole groups included."""
    promised = {name for outcome in record.outlook.outcomes for name in outcome.evicted}
    recent = {key: (node, group) for key, (node, group, at_ns) in trial.evicted.items() if at_ns >= since_ns}
    near = {key for key, (node, _) in recent.items() if node in trial.nodes or str(key) in promised}
    groups = {(key.namespace, recent[key][1]) for key in near if recent[key][1]}
    return tuple(sorted(str(key) for key in recent if key in near or (key.namespace, recent[key][1]) in groups))
