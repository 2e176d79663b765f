"""Which Kueue a cluster runs: its version, its Configuration, and what its API accepts."""
