"""Scheduling cycles: queues, order, processing, and several cycles in a row."""
