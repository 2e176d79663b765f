"""The whole system in a deterministic simulation: one seed is one history."""
