"""Requests: session, credentials, retries, budget and circuit breaker."""
