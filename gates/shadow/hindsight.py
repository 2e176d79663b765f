"""What preemptions cost, and what they would have cost had another policy chosen the cluster.

An episode is one attempt of the hub to place one Workload: every replica that was allowed to preempt for it, what that
cost, and what each policy would have chosen when the first one was. Facts beat forecasts: a policy that would have
chosen a cluster which did preempt is charged with what happened there.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from config.api.identifiers import NO_WORKER, ReplicaUID, WorkerName
from config.api.meta import NANOSECONDS
from engine.forecasting.forecast import Forecast, ForecastVerdict
from engine.forecasting.verification import FINAL, ForecastResult
from gates.decision.policies import Candidate, Pick, choose, usable
from gates.model.settings import GatePolicy, Settings
from gates.model.view import Reach, WorkerView, WorkloadView


@dataclass(frozen=True, slots=True)
class PreemptionCost:
    """What preemptions destroyed."""

    victims: int = 0
    pods: int = 0
    pod_seconds: int = 0
    """Pods times the time that they had run."""

    def __add__(self, other: "PreemptionCost") -> "PreemptionCost":
        return PreemptionCost(
            self.victims + other.victims, self.pods + other.pods, self.pod_seconds + other.pod_seconds
        )

    def __sub__(self, other: "PreemptionCost") -> "PreemptionCost":
        return PreemptionCost(
            self.victims - other.victims, self.pods - other.pods, self.pod_seconds - other.pod_seconds
        )


NOTHING: Final = PreemptionCost()


@dataclass(frozen=True, slots=True, order=True)
class LostWork:
    """A Workload that was preempted, and what it had done until then."""

    workload: str
    uid: str
    reason: str = ""
    pods: int = 0
    seconds: int = 0
    """How long it had run."""


@dataclass(frozen=True, slots=True)
class PreemptionStart:
    """A replica that was allowed to preempt: its gate was opened, or it had none and preempted."""

    cluster: WorkerName
    replica_uid: ReplicaUID
    opened_ns: int
    since_ns: int
    """From when on it might preempt: with a gate when that was opened, without one since the attempt began."""
    gated: bool
    forecast: Forecast | None = None
    """What was forecast before."""
    result: ForecastResult = ForecastResult.PENDING
    message: str = ""
    losses: tuple[LostWork, ...] = ()
    verified_ns: int | None = None

    @property
    def identity(self) -> tuple[str, str, int]:
        """Return what tells the starts of one Workload apart."""
        return (self.cluster, self.replica_uid, self.opened_ns)


@dataclass(frozen=True, slots=True)
class Breach:
    """Two clusters were allowed to preempt for one Workload within one timeout."""

    first: WorkerName
    second: str
    first_ns: int
    second_ns: int
    gated: bool
    """Both replicas had a gate that was opened; otherwise one preempted without."""


@dataclass(frozen=True, slots=True)
class PolicyOutcome:
    """What a policy would have done."""

    policy: GatePolicy
    cluster: WorkerName
    """Empty if it would have opened none."""
    cost: PreemptionCost | None = field(metadata={"formerly": "toll"})
    """By the forecast; None if there was none to rely on."""


@dataclass(frozen=True, slots=True)
class Episode:
    """One attempt to place one Workload."""

    workload: str
    uid: str
    attempt_ns: int
    starts: tuple[PreemptionStart, ...] = ()
    choices: tuple[PolicyOutcome, ...] = ()
    breaches: tuple[Breach, ...] = ()

    @property
    def key(self) -> tuple[str, str, int]:
        """Return what tells episodes apart."""
        return (self.workload, self.uid, self.attempt_ns)

    @property
    def is_settled(self) -> bool:
        """Return whether everything that began is over."""
        return all(start.result in FINAL for start in self.starts)

    @property
    def caused(self) -> PreemptionCost:
        """Return what was really lost."""
        return sum((cost_of(start.losses) for start in self.starts), NOTHING)


@dataclass(frozen=True, slots=True)
class News:
    """What one state of an episode has and an earlier one lacks."""

    starts: tuple[PreemptionStart, ...] = ()
    judged: tuple[PreemptionStart, ...] = ()
    breaches: tuple[Breach, ...] = ()
    victims: tuple[tuple[str, int], ...] = ()
    """How many more there are, by cluster."""


@dataclass(frozen=True, slots=True)
class PolicyTally:
    """One policy against what happened, over the episodes in which both are known."""

    policy: GatePolicy
    compared: int = 0
    caused: PreemptionCost = NOTHING
    would_cause: PreemptionCost = NOTHING

    @property
    def spared(self) -> PreemptionCost:
        """Return what the policy would have spared; negative where it would have cost more."""
        return self.caused - self.would_cause


@dataclass(frozen=True, slots=True)
class EpisodeTally:
    """All episodes in numbers."""

    episodes: int
    starts: int
    ungated: int
    breaches: int
    caused: PreemptionCost
    results: tuple[tuple[str, int], ...]
    policies: tuple[PolicyTally, ...]


def news(before: Episode | None, after: Episode) -> News:
    """Compare two states of one episode; None is the state before it began."""
    known = {start.identity: start for start in before.starts} if before is not None else {}
    pairs = [(known.get(start.identity), start) for start in after.starts]
    more = ((now.cluster, len(now.losses) - (len(was.losses) if was is not None else 0)) for was, now in pairs)
    return News(
        starts=tuple(now for was, now in pairs if was is None),
        judged=tuple(now for was, now in pairs if now.result in FINAL and (was is None or was.result not in FINAL)),
        breaches=after.breaches[len(before.breaches) if before is not None else 0 :],
        victims=tuple((cluster, count) for cluster, count in more if count > 0),
    )


def cost_of(losses: Iterable[LostWork]) -> PreemptionCost:
    """Add up what was lost."""
    return sum((PreemptionCost(1, loss.pods, loss.pods * loss.seconds) for loss in losses), NOTHING)


def forecast_cost(forecast: Forecast | None) -> PreemptionCost | None:
    """Return what a forecast says would be lost; None if it promises no place."""
    if forecast is None or forecast.verdict not in (ForecastVerdict.FITS, ForecastVerdict.PREEMPTS):
        return None
    victims = (victim for victim in forecast.victims if not victim.in_flight)
    return cost_of(
        LostWork(str(victim.key), victim.uid, victim.reason, victim.pods, _seconds(victim.running_since_ns, forecast))
        for victim in victims
    )


def choices(
    view: WorkloadView, forecasts: Mapping[WorkerName, Forecast], first: WorkerName, now_ns: int, settings: Settings
) -> tuple[PolicyOutcome, ...]:
    """Return what each policy would have chosen in place of `first`, which was allowed to preempt now."""
    workers = [replace(w, forecast=forecasts.get(w.name)) for w in view.listed if w.reach is Reach.SYNCED]
    hypothesis = WorkloadView(view.workload, tuple(workers))
    return tuple(_choice(policy, hypothesis, first, now_ns, settings) for policy in GatePolicy)


def charged(episode: Episode, choice: PolicyOutcome) -> PreemptionCost | None:
    """Return what an episode would have cost under a policy; None if that is not known."""
    if not episode.starts or not choice.cluster:
        return None
    first = episode.starts[0]
    if first.gated and choice.cluster == first.cluster:
        return episode.caused  # it would have gone on from there as it did
    there = [start for start in episode.starts if start.cluster == choice.cluster]
    return cost_of(loss for start in there for loss in start.losses) if there else choice.cost


def tally(episodes: Iterable[Episode]) -> EpisodeTally:
    """Count episodes, each given once."""
    found = [episode for episode in episodes if episode.starts]
    starts = [start for episode in found for start in episode.starts]
    results: dict[str, int] = {}
    for start in starts:
        results[start.result] = results.get(start.result, 0) + 1
    return EpisodeTally(
        episodes=len(found),
        starts=len(starts),
        ungated=sum(not start.gated for start in starts),
        breaches=sum(len(episode.breaches) for episode in found),
        caused=sum((episode.caused for episode in found), NOTHING),
        results=tuple(sorted((str(result), count) for result, count in results.items())),
        policies=tuple(_policy_tally(policy, found) for policy in GatePolicy),
    )


def _policy_tally(policy: GatePolicy, episodes: Iterable[Episode]) -> PolicyTally:
    total = PolicyTally(policy)
    for episode in episodes:
        choice = next((each for each in episode.choices if each.policy is policy), None)
        cost = charged(episode, choice) if choice is not None and episode.is_settled else None
        if cost is not None:
            total = PolicyTally(policy, total.compared + 1, total.caused + episode.caused, total.would_cause + cost)
    return total


def _choice(
    policy: GatePolicy, view: WorkloadView, first: WorkerName, now_ns: int, settings: Settings
) -> PolicyOutcome:
    fitting = [worker for worker in view.listed if _says(worker, ForecastVerdict.FITS) and worker.name != first]
    if fitting and policy is not GatePolicy.FIRST_COME_FIRST_SERVED:
        return PolicyOutcome(policy, min(fitting, key=_borrowing).name, NOTHING)
    queue = _queue(view, first, now_ns)
    asked = min((candidate.asked_ns for candidate in queue), default=now_ns)
    # Grace is over: those that would have asked in it are in the queue already.
    at_ns = max(now_ns, asked + min(settings.grace_ns, settings.timeout_ns))
    picked = choose(queue, view, at_ns, replace(settings, policy=policy))
    if not isinstance(picked, Pick):
        return PolicyOutcome(policy, NO_WORKER, None)
    return PolicyOutcome(policy, picked.worker.name, forecast_cost(usable(picked.worker)))


def _queue(view: WorkloadView, first: WorkerName, now_ns: int) -> list[Candidate]:
    """Return those that asked, and those that are forecast to; the one really chosen wins a tie."""
    found = []
    for worker in view.listed:
        signal = worker.replica.signal_ns if worker.replica is not None else None
        if signal is None and worker.name != first and not _says(worker, ForecastVerdict.PREEMPTS):
            continue
        asked_ns = now_ns if signal is None else min(signal - worker.clock_skew_ns, now_ns)
        found.append(Candidate(replace(worker, busy=False), asked_ns, is_late=False))
    return sorted(found, key=lambda each: (each.asked_ns, each.worker.name != first, each.worker.order))


def _says(worker: WorkerView, verdict: ForecastVerdict) -> bool:
    forecast = usable(worker)
    return forecast is not None and forecast.verdict is verdict


def _borrowing(worker: WorkerView) -> tuple[int, tuple[int, WorkerName]]:
    forecast = worker.forecast
    return (forecast.borrowing or 0 if forecast is not None else 0, worker.order)


def _seconds(since_ns: int | None, forecast: Forecast) -> int:
    return max(0, forecast.made_ns - since_ns) // NANOSECONDS if since_ns is not None else 0
