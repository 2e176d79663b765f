"""`turnstile cost-controller`: the cost controller by itself."""

from manager.cli.run import ConfigOption, run_service


def cost_controller(config: ConfigOption = None) -> None:
    """Write on each Job what preempting it would cost, until SIGTERM or Ctrl-C.

    Reads its configuration again on SIGHUP, and exits, as `run` does.
    """
    from manager.cost.service import serve_costs

    run_service(config, serve_costs)
