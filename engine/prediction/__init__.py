"""The answer to one question: what would happen if this Workload were tried now."""
