"""Leader election among daemons by a Lease, and what being the leader allows."""
