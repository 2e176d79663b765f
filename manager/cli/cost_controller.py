"""`turnstile cost-controller`: the cost controller on its own."""

from manager.cli.conventions.configuration import ConfigFile
from manager.cli.run import run_service


def cost_controller(config: ConfigFile = None) -> None:
    """Write on each Job what preempting it would cost, until SIGTERM or Ctrl-C.

    SIGHUP reloads its configuration; exit codes are those of `run`.
    """
    from manager.app.cost_service import serve_costs

    run_service(config, serve_costs)
