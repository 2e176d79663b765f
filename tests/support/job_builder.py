"""A fluent builder of batch/v1 Jobs, for tests."""

from typing import Self

from config.names import KUEUE_GROUP, MULTIKUEUE_NAME
from localcluster.kueue.annotations import RUN_SECONDS, STOP_SECONDS
from tests.support.builders import NAMESPACE, Amount, Builder


class JobBuilder(Builder):
    """A Job of one pod that asks for nothing, until told otherwise."""

    def queue(self, name: str) -> Self:
        """Submit to a LocalQueue."""
        return self.label(f"{KUEUE_GROUP}/queue-name", name)

    def label(self, key: str, value: str) -> Self:
        """Set one label."""
        return self.with_metadata(labels={**self.raw["metadata"].get("labels", {}), key: value})

    def priority_class(self, name: str) -> Self:
        """Name a WorkloadPriorityClass."""
        return self.label(f"{KUEUE_GROUP}/priority-class", name)

    def prebuilt(self, workload: str) -> Self:
        """Name the Workload that another client made for the Job."""
        return self.annotate(f"{KUEUE_GROUP}/prebuilt-workload-name", workload)

    def request(self, **amounts: Amount) -> Self:
        """Set what each pod requests."""
        changed = self._copy()
        requests = {name: str(amount) for name, amount in amounts.items()}
        changed.raw["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": requests}
        return changed

    def pods(self, count: int) -> Self:
        """Set how many pods run at once, and how many must succeed."""
        return self.with_spec(parallelism=count, completions=count)

    def runs(self, seconds: Amount) -> Self:
        """Set how long it runs."""
        return self.annotate(RUN_SECONDS, str(seconds))

    def stops_in(self, seconds: Amount) -> Self:
        """Set how long it takes to stop."""
        return self.annotate(STOP_SECONDS, str(seconds))

    def managed_elsewhere(self, by: str = MULTIKUEUE_NAME) -> Self:
        """Leave the Job to another controller, as on a hub."""
        return self.with_spec(managedBy=by)


def job(name: str) -> JobBuilder:
    """Return a Job."""
    container = {"name": "main", "image": "registry.example/work:1"}
    template = {"spec": {"containers": [container], "restartPolicy": "Never"}}
    metadata = {"name": name, "namespace": NAMESPACE}
    return JobBuilder({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {"template": template}})
