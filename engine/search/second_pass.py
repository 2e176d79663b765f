"""The second pass of a workload that has its quota: its nodes were to be chosen once its admission checks are ready.

Flavors are those of its admission and quota is not asked for; where the nodes are taken, it may preempt.
"""

from collections.abc import Mapping
from typing import Any

from engine.cluster.model import ClusterModel
from engine.cluster.queueing import NominatedWorkload, QueueRefusal
from engine.objects.workloads import AdmittedWorkload, PendingWorkload
from engine.requests.demand import pod_set_demands
from engine.requests.requests import read_count, workload_request
from engine.vocabulary.assignment import Assignment, AssignmentMode, FlavorChoice, PodSetAssignment
from engine.vocabulary.decision import Outcome
from engine.vocabulary.messages import cluster_queue_inactive


def enter_second_pass(
    model: ClusterModel, workload: AdmittedWorkload, raw: Mapping[str, Any]
) -> NominatedWorkload | QueueRefusal:
    """Return the workload ready for its second pass, or why it is not."""
    queue = model.forest.queue(workload.cluster_queue)
    model.forest.settle()
    if not queue.is_active:
        return QueueRefusal(Outcome.INADMISSIBLE, cluster_queue_inactive(queue.name), queue.name)
    states = {check.get("name"): check.get("state") for check in (raw.get("status") or {}).get("admissionChecks") or ()}
    waiting = sorted(name for name in queue.existing_spec.admission_checks if states.get(name) != "Ready")
    if waiting:
        message = f"the workload has its quota and waits for admission check {', '.join(waiting)}"
        return QueueRefusal(Outcome.NOT_QUEUED, message, queue.name)
    pending = PendingWorkload(workload.key, workload.uid, "", workload.priority, workload.queue_time_ns, raw)
    request = workload_request(raw, model.request_context(workload.key.namespace))
    admitted = {each.get("name") or "main": each for each in raw["status"]["admission"].get("podSetAssignments") or ()}
    demands = tuple(
        demand.scaled_to(read_count(admitted.get(demand.name, {}).get("count"), "count", default=demand.count))
        for demand in pod_set_demands(raw, request)
    )
    return NominatedWorkload(pending, queue, queue.existing_spec, demands, holds_quota=True)


def admitted_assignment(entry: NominatedWorkload) -> Assignment:
    """Return the flavors that the workload was admitted with; its quota is taken already."""
    assignments = entry.workload.raw["status"]["admission"].get("podSetAssignments") or ()
    flavors = {each.get("name") or "main": each.get("flavors") or {} for each in assignments}
    return Assignment(
        tuple(
            PodSetAssignment(
                demand.name,
                demand.count,
                # Kueue leaves the index of the flavor at zero here, as if a scan had ended at the first one.
                {
                    resource: FlavorChoice(flavor, AssignmentMode.FIT, 0, tried_index=0)
                    for resource, flavor in flavors.get(demand.name, {}).items()
                },
                demand.requests,
            )
            for demand in entry.demands
        )
    )
