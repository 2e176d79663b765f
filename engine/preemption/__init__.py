"""Whom to preempt: candidates in order, and the two target searches."""
