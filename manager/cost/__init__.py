"""The cost controller (KEP-7990): computes what preempting each Job would cost and writes it on the Job."""
