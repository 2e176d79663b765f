"""Composition: loops, CLI, metrics. No other package imports this one."""
