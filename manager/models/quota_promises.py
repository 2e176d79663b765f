"""The quota of one worker that is held for Workloads which were dispatched there and have no replica yet."""

from config.api.meta import ObjectKey
from engine.forecasting.observed import ObservedCluster
from engine.objects.workloads import AdmittedWorkload


class QuotaPromises:
    """The quota that is held on one worker."""

    def __init__(self, cluster: ObservedCluster) -> None:
        self._cluster = cluster
        self._promises: dict[ObjectKey, AdmittedWorkload] = {}

    def outstanding(self, *, but: ObjectKey | None = None) -> list[AdmittedWorkload]:
        """Return the quota that is held for Workloads whose replica is not there yet; `but` for this one."""
        tenants = self._cluster.tenants
        return [promise for key, promise in self._promises.items() if key != but and key not in tenants]

    def holds(self, key: ObjectKey) -> bool:
        """Tell whether quota is held for a Workload."""
        return key in self._promises

    def hold(self, key: ObjectKey, promise: AdmittedWorkload) -> None:
        """Hold the quota that a Workload will take."""
        self._promises[key] = promise

    def release(self, key: ObjectKey) -> None:
        """Hold no quota any longer for a Workload."""
        self._promises.pop(key, None)

    def release_if_taken(self, key: ObjectKey) -> None:
        """Hold no quota for a Workload whose replica takes it itself now."""
        if key in self._promises and key in self._cluster.tenants:
            self.release(key)
