"""Decisions in shadow mode: what the daemon would have done, and what happened instead."""
