"""`python -P -m manager`, the same as the `turnstile` script."""

from manager.cli import main

main()
