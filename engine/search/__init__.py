"""The search of a scheduling cycle: flavors for a Workload, and the victims that make room for it."""
