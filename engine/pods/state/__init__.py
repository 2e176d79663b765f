"""The state of a cluster's nodes during a cycle."""
