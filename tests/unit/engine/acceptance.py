"""Runs acceptance scenarios: a cluster, one pending workload `P`, and what must come out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from config.api.meta import ObjectKey, parse_time
from engine.cluster.model import ClusterModel
from engine.objects.configuration import FairSharing, KueueConfiguration
from engine.prediction.predict import predict
from engine.vocabulary.decision import Outcome, Prediction
from engine.vocabulary.features import FeatureGates
from tests.support.builders import NAMESPACE, Builder, WorkloadBuilder, at, cluster, workload

PENDING = "P"

ADMIT = Outcome.ADMIT
PREEMPT = Outcome.PREEMPT
NO_FIT = Outcome.NO_FIT
NO_CANDIDATES = Outcome.PREEMPT_NO_CANDIDATES
SKIPPED = Outcome.SKIPPED
INADMISSIBLE = Outcome.INADMISSIBLE
NOT_QUEUED = Outcome.NOT_QUEUED


@dataclass(frozen=True, slots=True)
class Case:
    """One scenario; only what a `want` field mentions is compared."""

    objects: Sequence[Builder]
    want: Outcome
    want_victims: Mapping[str, str] = field(default_factory=dict)
    want_flavors: Mapping[str, Mapping[str, str]] | None = None
    want_usage: Mapping[str, int] | None = None
    want_message: str | None = None
    """A part of the message."""
    want_borrowing: int | None = None
    want_counts: Mapping[str, int] | None = None
    gates: Mapping[str, bool] = field(default_factory=dict)
    fair: Sequence[str] | None = None
    """Preemption strategies; None leaves fair sharing off."""
    configuration: KueueConfiguration | None = None
    now: float = 1000

    def kueue_configuration(self) -> KueueConfiguration:
        """Return the configuration of the Kueue that is predicted."""
        if self.configuration is not None:
            return self.configuration
        fair_sharing = None if self.fair is None else FairSharing.from_names(self.fair)
        return KueueConfiguration(gates=FeatureGates.from_mapping(self.gates), fair_sharing=fair_sharing)

    def predict(self) -> Prediction:
        """Predict the pending workload."""
        model = ClusterModel.of(cluster(*self.objects), self.kueue_configuration())
        return predict(model, ObjectKey(NAMESPACE, PENDING), parse_time(at(self.now)))

    def check(self) -> None:
        """Compare the prediction with what is wanted."""
        prediction = self.predict()
        got_victims = {victim.key.name: victim.reason.value for victim in prediction.victims}
        assert (prediction.outcome, got_victims) == (self.want, dict(self.want_victims)), prediction.message
        if self.want_flavors is not None:
            assert {pod_set.name: pod_set.flavors for pod_set in prediction.pod_sets} == self.want_flavors
        if self.want_usage is not None:
            assert prediction.pod_sets[0].usage == self.want_usage
        if self.want_message is not None:
            assert self.want_message in prediction.message
        if self.want_borrowing is not None:
            assert prediction.borrowing == self.want_borrowing
        if self.want_counts is not None:
            assert prediction.reduced_counts == self.want_counts


def pending(cpu: int | str = 1, priority: int = 0, queue: str = "A") -> WorkloadBuilder:
    """Return the pending workload P of one pod."""
    return workload(PENDING).queue(queue).request(cpu=cpu).priority(priority)


def running(name: str, queue: str, cpu: int | str, priority: int = 0, since: float = 0) -> WorkloadBuilder:
    """Return a workload that holds cpu of flavor f since some minute."""
    return workload(name).queue(queue).request(cpu=cpu).priority(priority).holds(queue, since=since)
