"""Composition: loops, CLI, metrics. Nothing of ours imports this package."""
