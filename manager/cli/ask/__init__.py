"""Commands that ask a running daemon, or the hub where there is none."""
