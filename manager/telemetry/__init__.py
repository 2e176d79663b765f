"""Metrics and traces of the daemon."""
