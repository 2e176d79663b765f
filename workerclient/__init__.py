"""One worker cluster as one isolated object: session, caches, budget, breaker."""
