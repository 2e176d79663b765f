"""The view of a Workload, put together from the records of the hub, its workers and their jobs."""
