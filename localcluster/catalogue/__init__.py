"""The kinds that a local cluster serves."""
