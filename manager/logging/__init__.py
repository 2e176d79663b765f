"""Structured logs: set-up, redaction of secrets, suppression of repetitions."""
