"""What the configuration says, in the words of those who go by it."""

from collections.abc import Mapping

from config.api.identifiers import WorkerName
from config.api.meta import NANOSECONDS
from config.sections.settings import Configuration
from engine.objects.configuration import KueueConfiguration
from engine.versions.profiles import profile_of
from gates.model.settings import DEFAULT_UNGATED, Dispatcher, GatePolicy, GiveUpState, Settings, UngatedPolicy
from manager.base.errors import StartupError
from manager.base.kueue_configuration import KueueConfigurationError, load_kueue_configuration
from workerclient.transport.budget import BudgetLimits


def settings_of(configuration: Configuration) -> Settings:
    """Return what decisions depend on."""
    gates, dispatcher = configuration.gates, configuration.dispatcher
    return Settings(
        timeout_ns=_ns(gates.single_cluster_preemption_timeout.total_seconds()),
        non_preempting_grace_ns=_ns(gates.non_preempting_grace.total_seconds()),
        hold_while_quota_reserved=gates.hold_while_quota_reserved,
        gate_single_target=gates.gate_single_target,
        dispatcher=Dispatcher(dispatcher.mode),
        step_size=dispatcher.step_size,
        round_ns=_ns(dispatcher.round_timeout.total_seconds()),
        worker_lost_ns=_ns(configuration.worker_lost_timeout.total_seconds()),
        reject_ownerless=configuration.jobs.ownerless_workloads == "Reject",
        policy=GatePolicy(gates.policy),
        grace_ns=_ns(gates.grace_period.total_seconds()),
        skip_futile=gates.skip_futile,
        forecast_round_ns=_ns(dispatcher.forecast_round_timeout.total_seconds()),
        give_up_after_ns=_ns(dispatcher.give_up_after.total_seconds()),
        give_up_state=GiveUpState(dispatcher.give_up_state),
    )


def policies_of(configuration: Configuration) -> Mapping[WorkerName, UngatedPolicy]:
    """Return what to do with each worker whose Kueue does not know gates."""
    return {worker.name: UngatedPolicy(worker.gates_unsupported) for worker in configuration.workers}


def ungated_policy_of(configuration: Configuration, name: WorkerName) -> UngatedPolicy:
    """Return what to do with a worker while its Kueue is not known to honour gates."""
    options = configuration.worker(name)
    return UngatedPolicy(options.gates_unsupported) if options is not None else DEFAULT_UNGATED


def budget_of(configuration: Configuration, name: WorkerName) -> BudgetLimits:
    """Return what may be asked of a worker."""
    options = configuration.worker(name)
    return BudgetLimits(float(options.qps), options.burst) if options is not None else BudgetLimits()


def kueues_of(configuration: Configuration) -> Mapping[WorkerName, KueueConfiguration]:
    """Return the Kueue Configurations that are known, by worker: from files, or the defaults of a version."""
    found = {}
    for index, worker in enumerate(configuration.workers):
        if worker.kueue_configuration is not None or worker.kueue_version is not None:
            try:
                profile = profile_of(worker.kueue_version)
                found[worker.name] = load_kueue_configuration(worker.kueue_configuration, profile)
            except KueueConfigurationError as error:
                raise StartupError(f"workers[{index}].kueueConfiguration: {error}") from error
    return found


class KueueConfigurations:
    """The Kueue Configurations of the workers, as their files were when they were last read."""

    def __init__(self, configuration: Configuration) -> None:
        """Read the files; raises `StartupError`."""
        self._by_worker = kueues_of(configuration)

    def replace(self, by_worker: Mapping[WorkerName, KueueConfiguration]) -> None:
        """Go on with what was read again."""
        self._by_worker = by_worker

    def of(self, worker: WorkerName) -> KueueConfiguration | None:
        """Return the Configuration of a worker; None if neither a file nor its version is named."""
        return self._by_worker.get(worker)

    def workers(self) -> frozenset[WorkerName]:
        """Return the workers whose file or version is named."""
        return frozenset(self._by_worker)


def _ns(seconds: float) -> int:
    return round(seconds * NANOSECONDS)
