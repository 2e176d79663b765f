"""An OpenAPI document of a cluster whose Workloads have preemption gates."""

from typing import Any

from engine.vocabulary.gate_dialect import GateDialect

GATES: dict[str, Any] = {"items": {"properties": {"name": {}, GateDialect.KUEUE.state_field: {}}}}


GATED_SCHEMA: dict[str, Any] = {
    "components": {
        "schemas": {
            "io.x-k8s.kueue.v1beta2.Workload": {
                "properties": {
                    "spec": {"properties": {"preemptionGates": {}}},
                    "status": {"properties": {"preemptionGates": GATES}},
                }
            }
        }
    }
}
