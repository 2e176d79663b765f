"""What is to be said about the pods of one Workload on one worker, and what was seen of them after a gate was opened.

Brings together what the two observations of a worker know: flavors, victims and owners from the one, nodes and pods
from config.api.identifiers import WorkerName
from the other. An eviction is laid to a Workload when it happened on a node that one of its pods has, or was promised.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import orjson

from config.api.identifiers import WorkerName
from config.api.meta import ObjectKey
from engine.forecasting.forecast import Forecast, ForecastVerdict, ForecastVictim
from engine.forecasting.observed import ObservedCluster
from engine.pod_outlook.arrivals import MOST_PODS, AssignedPods, arriving_pods
from engine.pod_outlook.judging import Landed
from engine.pod_outlook.outlook import pod_outlook
from engine.pod_outlook.values import PodOutlook, unsupported
from engine.pod_outlook.ways import MOST_STEPS
from engine.pods.state.model import PodModel
from engine.pods.values.values import BoundPod, PendingPod
from engine.vocabulary.effort import Effort
from gates.model.pod_records import PodRecord, PodWitness
from gates.model.settings import SECOND
from gates.wire.records import HubRecord
from manager.models.large_forecasts import LOOK_STEPS
from manager.models.pod_observation import OnPod, PodObservation
from manager.models.pod_trials import PodTrial, evictions_of
from manager.models.watched_pods import WatchedPod
from manager.process.background import Background

_STILL_GOOD_NS: Final = SECOND
"""How long an outlook is kept although pods change: on a busy worker they always do."""
_CLOCK_GRAIN_NS: Final = 2 * SECOND
"""Objects state times in whole seconds."""
_STANDS_NS: Final = 30 * SECOND
"""The same for one that takes long."""
_STEPS_OF_A_RECONCILE: Final = 2
"""How many steps of a reconcile one step of an outlook takes, which is longer."""
_OBJECTS_IN_A_STEP: Final = 10
"""How many nodes and pods are examined in one step, before anything is tried."""
_MISSED: Final = "the outlook could not be made again when the pods came"
_UNSEEN: Final = "not all evictions were seen: the daemon was not connected all the time"
_REMEMBERED: Final = 8
"""Of how many outlooks for a Workload it is known what they were made of."""
_QUOTA_IS_THERE: Final = (ForecastVerdict.FITS, ForecastVerdict.PREEMPTS)


@dataclass(frozen=True, slots=True)
class PodAnswer:
    """What is known of an outlook at one moment."""

    outlook: PodOutlook | None = None
    request: Callable[[], None] | None = None
    """Has the missing outlook made later, and the Workload woken then."""


class PodForecasts:
    """Outlooks and trials of one worker."""

    def __init__(
        self,
        cluster: ObservedCluster,
        background: Background,
        on_progress: Callable[[WorkerName, ObjectKey], None],
        observe: Callable[[OnPod], PodObservation],
    ) -> None:
        self._cluster = cluster
        self._background = background
        self._being_made: dict[ObjectKey, Forecast] = {}
        self._on_progress = on_progress
        self._trials: dict[ObjectKey, PodTrial] = {}
        self._answers: dict[ObjectKey, tuple[int, Forecast, PodOutlook, int]] = {}
        """The version that each is of, what it was made of, and for how long it is kept."""
        self._asked: dict[ObjectKey, deque[tuple[int, Forecast]]] = {}
        self.observation = observe(self.note_pod)

    def outlook(
        self, hub: HubRecord, forecast: Forecast | None, now_ns: int, skew_ns: int, effort: Effort
    ) -> PodAnswer:
        """Return what becomes of a Workload's pods once the quota is there.

        No outlook where it would not be there, and where it takes long: then it can be requested. Nothing is changed
        but a cache of answers, each of which would be the same if it were made again.
        """
        if forecast is None or forecast.verdict not in _QUOTA_IS_THERE:
            return PodAnswer()
        why = self.observation.why_silent()
        if why:
            return PodAnswer(unsupported(why, now_ns))
        key = hub.key
        if (known := self._known(key, forecast, now_ns)) is not None:
            return PodAnswer(known)
        if _same(self._being_made.get(key), forecast):
            return PodAnswer()
        found = self._on_loop(self._asking(hub, forecast, now_ns + skew_ns, self.observation.model), effort)
        if found is None:
            return PodAnswer(request=partial(self._make_apart, key, hub, forecast, now_ns, skew_ns))
        found = replace(found, made_ns=now_ns)
        self._keep(key, forecast, found, self.observation.version, _STILL_GOOD_NS)
        return PodAnswer(found)

    def _on_loop(self, ask: Callable[[Effort], PodOutlook], budget: Effort) -> PodOutlook | None:
        """Return an outlook, None if it takes more than what is left of a reconcile."""
        model = self.observation.model
        upfront = (len(model.nodes) + model.bound_count()) // _OBJECTS_IN_A_STEP
        effort = Effort(max(0, budget.left // _STEPS_OF_A_RECONCILE - upfront))
        if not effort.left:
            return None
        found = ask(effort)
        budget.left -= _STEPS_OF_A_RECONCILE * (upfront + effort.spent)
        return found if effort.left >= 0 else None

    def _make_apart(self, key: ObjectKey, hub: HubRecord, forecast: Forecast, now_ns: int, skew_ns: int) -> None:
        """Let an outlook of this moment be made in the thread."""
        if not self._background.has_room():
            return
        ask = self._asking(hub, forecast, now_ns + skew_ns, self.observation.model.detached())
        version = self.observation.version
        self._being_made[key] = forecast

        async def make() -> None:
            try:
                found = await self._background.in_thread(lambda _: ask(Effort(MOST_STEPS)))
                if key in self._being_made:
                    self._keep(key, forecast, replace(found, made_ns=now_ns), version, _STANDS_NS)
            finally:
                self._being_made.pop(key, None)
                self._on_progress(self.observation.name, key)

        self._background.add(make)

    def _keep(self, key: ObjectKey, forecast: Forecast, found: PodOutlook, version: int, stands_ns: int) -> None:
        self._answers[key] = (version, forecast, found, stands_ns)
        self._asked.setdefault(key, deque(maxlen=_REMEMBERED)).append((found.made_ns, forecast))

    def late_outlook(self, key: ObjectKey, recorded: Forecast) -> PodOutlook | None:
        """Return the outlook that was made of a forecast which is on record; None if there is none."""
        _, asked, known, _ = self._answers.get(key, (-1, None, None, 0))
        is_it = asked is not None and (asked.made_ns, asked.verdict) == (recorded.made_ns, recorded.verdict)
        return known if is_it else None

    def outlook_of_now(
        self, hub: HubRecord, forecast: Forecast | None, now_ns: int, skew_ns: int
    ) -> Callable[[], PodOutlook | None]:
        """Return what says the same in any thread, for queries."""
        if forecast is None or forecast.verdict not in _QUOTA_IS_THERE:
            return lambda: None
        why = self.observation.why_silent()
        if why:
            return lambda: unsupported(why, now_ns)
        if (known := self._known(hub.key, forecast, now_ns)) is not None:
            return lambda: known
        ask = self._asking(hub, forecast, now_ns + skew_ns, self.observation.model.detached())
        return lambda: replace(ask(Effort(MOST_STEPS)), made_ns=now_ns)

    def _known(self, key: ObjectKey, forecast: Forecast, now_ns: int) -> PodOutlook | None:
        """Return the last answer about a Workload if it is still good."""
        version, asked, known, stands_ns = self._answers.get(key, (-1, None, None, 0))
        if known is None or not _same(asked, forecast):
            return None
        is_good = version == self.observation.version or now_ns - known.made_ns < stands_ns
        return known if is_good else None

    def foresee(self, workload: Mapping[str, Any], forecast: Forecast, now_ns: int) -> Callable[[], PodOutlook | None]:
        """Return what says, in any thread, what would become of the pods of a Workload that was not submitted.

        Times are on the worker's clock. What it says is of this moment, whatever the worker does until it is asked.
        """
        if forecast.verdict not in _QUOTA_IS_THERE:
            return lambda: None
        why = self.observation.why_silent()
        if why:
            return lambda: unsupported(why, now_ns)
        metadata = workload["metadata"]
        key = ObjectKey(str(metadata["namespace"]), str(metadata["name"]))
        ask = self._question(key, workload["spec"]["podSets"], forecast, now_ns, self.observation.model.detached())
        return lambda: ask(Effort(MOST_STEPS))

    def follow(self, hub: HubRecord, record: PodRecord, uid: str) -> None:
        """Follow what becomes of the pods after a gate was opened."""
        self._trials[hub.key] = self._begin(hub, record, uid)

    def followed(self, key: ObjectKey) -> str:
        """Return the UID of the replica whose pods are followed for a Workload; empty if none are."""
        trial = self._trials.get(key)
        return trial.uid if trial is not None else ""

    def witness(self, key: ObjectKey, record: PodRecord, uid: str, opened_ns: int, skew_ns: int) -> PodWitness | None:
        """Return what was seen of the pods since they are followed; None while nodes and pods are not known."""
        trial = self._trials.get(key)
        if self.observation.why_silent():
            return None
        if trial is None or trial.uid != uid:
            return None if self._origin(key, record) is not None else PodWitness(missed=_UNSEEN)
        if trial.ask is None or trial.lists != self.observation.lists:
            return PodWitness(missed=_UNSEEN)
        if trial.is_awaited:
            return None
        since = opened_ns + skew_ns - _CLOCK_GRAIN_NS
        return PodWitness(Landed(evictions_of(trial, record, since), len(trial.placed)), trial.again, trial.missed)

    def forget(self, key: ObjectKey) -> None:
        """Keep nothing of a Workload."""
        self._trials.pop(key, None)
        self._answers.pop(key, None)
        self._being_made.pop(key, None)
        self._asked.pop(key, None)

    def end_trial(self, key: ObjectKey) -> None:
        """Follow no pods any longer for a Workload whose outlook was judged."""
        self._trials.pop(key, None)

    def note_pod(self, key: ObjectKey, value: WatchedPod | None) -> None:
        """Take a change of a pod."""
        for workload, trial in list(self._trials.items()):
            if value is None or value.pod is None:
                continue
            pod = value.pod
            if value.evicted_ns and isinstance(pod, BoundPod):
                trial.note_eviction(key, pod, value.evicted_ns)
            if self.observation.places.is_of(key, workload, self._owner(workload)):
                self._note_own(workload, trial, pod)

    def _note_own(self, workload: ObjectKey, trial: PodTrial, pod: BoundPod | PendingPod) -> None:
        if trial.again is None and trial.ask is not None and not trial.placed and not trial.is_awaited:
            self._ask_again(workload, trial, trial.ask)
        if trial.note_place(pod):
            self._on_progress(self.observation.name, workload)

    def _ask_again(self, workload: ObjectKey, trial: PodTrial, ask: Callable[[PodModel, Effort], PodOutlook]) -> None:
        """Make the outlook of a trial again, of this moment; in the thread if that takes long."""
        trial.again = self._on_loop(partial(ask, self.observation.model), Effort(LOOK_STEPS))
        if trial.again is not None:
            return
        if not self._background.has_room():
            trial.missed = _MISSED
            return
        model = self.observation.model.detached()
        trial.is_awaited = True

        async def make() -> None:
            try:
                trial.again = await self._background.in_thread(lambda _: ask(model, Effort(MOST_STEPS)))
            finally:
                trial.is_awaited = False
                self._on_progress(self.observation.name, workload)

        self._background.add(make)

    def _begin(self, hub: HubRecord, record: PodRecord, uid: str) -> PodTrial:
        """Start a trial; one that begins without knowing how its outlook was made cannot be completed."""
        made_ns, known = record.outlook.made_ns, self._origin(hub.key, record)
        if known is None:
            return PodTrial(uid, self.observation.lists, None)
        return PodTrial(
            uid,
            self.observation.lists,
            lambda model, effort: self._asking(hub, known, made_ns, model)(effort),
        )

    def _origin(self, key: ObjectKey, record: PodRecord) -> Forecast | None:
        """Return the forecast that a recorded outlook was made of, None if it is not known any longer."""
        return dict(self._asked.get(key, ())).get(record.outlook.made_ns)

    def _asking(
        self, hub: HubRecord, forecast: Forecast, now_ns: int, model: PodModel
    ) -> Callable[[Effort], PodOutlook]:
        if not hub.document:
            why, mode = "the pod templates of the Workload are not known", str(self.observation.mode)
            return lambda _: unsupported(why, now_ns, mode)
        pod_sets = orjson.loads(hub.document)["spec"].get("podSets") or []
        return self._question(hub.key, pod_sets, forecast, now_ns, model)

    def _question(
        self,
        key: ObjectKey,
        pod_sets: Sequence[Mapping[str, Any]],
        forecast: Forecast,
        now_ns: int,
        model: PodModel,
    ) -> Callable[[Effort], PodOutlook]:
        """Gather all that an outlook depends on, and return what makes it."""
        mode = self.observation.mode
        if sum(each.count for each in forecast.pod_sets) > MOST_PODS:
            return lambda _: unsupported(f"more than {MOST_PODS} pods", now_ns, str(mode))
        assigned = [AssignedPods(each.name, each.count, self._flavors(each.flavors)) for each in forecast.pod_sets]
        own = set(self.observation.pods_of(key, self._owner(key)))
        leaving = [pod for victim in forecast.victims for pod in self._pods_of(victim)]

        def outlook(effort: Effort) -> PodOutlook:
            try:
                arriving = arriving_pods(model, key, pod_sets, assigned, now_ns)
                return pod_outlook(_without(model, own), arriving, mode, now_ns, leaving, effort)
            except ValueError as error:
                return unsupported(str(error), now_ns, str(mode))

        return outlook

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


def _same(asked: Forecast | None, forecast: Forecast) -> bool:
    return asked is not None and replace(asked, made_ns=0) == replace(forecast, made_ns=0)


def _without(model: PodModel, pods: Iterable[ObjectKey]) -> PodModel:
    """Return the model as it was before these pods came."""
    fork = model.fork()
    for key in pods:
        fork.put_pod(key, None)
    return fork
