"""A stand-in for Kueue on local clusters: decided by `engine`, written through the store as controllers would."""
