"""The decision about one Workload: a table of rules from a view to actions."""
