"""`python -m tests.simulation`: what `make simulate` runs."""

import sys

from tests.simulation.command import main

if __name__ == "__main__":
    sys.exit(main())
