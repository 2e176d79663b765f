"""The words of the engine: decisions, assignments, messages, feature gates, errors."""
