"""Which flavor each resource gets: suitability, grading, assignment, and the memory of a scan."""
