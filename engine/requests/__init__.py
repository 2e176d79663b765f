"""What a pending workload asks for: pods, LimitRanges, transformations, order and equivalence of requests."""
