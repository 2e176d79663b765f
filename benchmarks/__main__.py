"""`python -m benchmarks [name …]` runs all benchmarks, or the named ones, and prints their tables.

With `--quick` a smaller form that ends within a minute, for the benchmarks that have one.
"""

import sys

from benchmarks import (
    cli_start,
    clients,
    cost_controller,
    engine_scale,
    forecast,
    forecast_first,
    hostile_clients,
    local_server,
    orchestrator,
    plan,
    pod_forecast,
    pods_scale,
    policies,
    topology,
    worker_client,
)
from benchmarks.orchestrator_processes import DaemonEndedError

BENCHMARKS = {
    "cli_start": cli_start.run,
    "clients": clients.run,
    "cost_controller": cost_controller.run,
    "engine_scale": engine_scale.run,
    "forecast": forecast.run,
    "forecast_first": forecast_first.run,
    "hostile_clients": hostile_clients.run,
    "local_server": local_server.run,
    "orchestrator": orchestrator.run,
    "pod_forecast": pod_forecast.run,
    "plan": plan.run,
    "pods_scale": pods_scale.run,
    "policies": policies.run,
    "topology": topology.run,
    "worker_client": worker_client.run,
}
_QUICK_OPTION = "--quick"
QUICK = {"orchestrator": orchestrator.run_quick}


def main(arguments: list[str]) -> int:
    """Run the benchmarks; reject unknown names."""
    names = [each for each in arguments if each != _QUICK_OPTION]
    known, what = (QUICK, "quick benchmark") if _QUICK_OPTION in arguments else (BENCHMARKS, "benchmark")
    unknown = [name for name in names if name not in known]
    if unknown:
        print(f"error: no {what} named {', '.join(unknown)}; there are: {', '.join(known)}", file=sys.stderr)
        return 2
    for name in names or known:
        try:
            known[name]()
        except DaemonEndedError as error:
            print(f"error: {name}: {error}", file=sys.stderr)
            return 1
    return 0


sys.exit(main(sys.argv[1:]))
