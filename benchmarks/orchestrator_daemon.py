"""The daemon in a process of its own, as `turnstile run` starts it; only its reconciles are counted besides.

For each line of standard input it prints one of JSON: how many reconciles there were so far, by the row that answered.
"""

import json
import os
import sys
from collections import Counter
from pathlib import Path
from threading import Thread

from config.loading.loading import load_configuration
from gates.model.actions import Decision
from gates.model.view import WorkloadView
from manager.app.listeners import Observers
from manager.app.service import run, serve
from manager.base.errors import StartupError


def main(path: Path) -> None:
    """Run the daemon until it is told to stop."""
    reconciles: Counter[str] = Counter()

    def count(_group: WorkloadView, decision: Decision) -> None:
        reconciles[decision.rule if decision.actions else f"{decision.rule}, nothing to do"] += 1

    def tell() -> None:
        for _line in sys.stdin:
            print(json.dumps(reconciles.copy()), flush=True)

    Thread(target=tell, daemon=True).start()
    configuration = load_configuration(path, os.environ).configuration
    try:
        run(serve(configuration, Observers(on_decision=count)))
    except StartupError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
