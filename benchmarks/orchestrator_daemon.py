"""The daemon in a process of its own, as `turnstile run` starts it; only its looks are counted besides.

For each line of standard input it prints one of JSON: how many looks there were so far, by the row that answered.
"""

import json
import os
import sys
from collections import Counter
from pathlib import Path
from threading import Thread

from config.loading import load_configuration
from gates.actions import Decision
from gates.view import Group
from manager.observers import Observers
from manager.service import run, serve


def main(path: Path) -> None:
    """Run the daemon until it is told to stop."""
    looks: Counter[str] = Counter()

    def count(_group: Group, decision: Decision) -> None:
        looks[decision.rule if decision.actions else f"{decision.rule}, nothing to do"] += 1

    def tell() -> None:
        for _line in sys.stdin:
            print(json.dumps(looks.copy()), flush=True)

    Thread(target=tell, daemon=True).start()
    configuration = load_configuration(path, os.environ).configuration
    run(serve(configuration, Observers(on_decision=count)))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
