"""Below the quota: what becomes of the pods of a Workload on a worker's nodes once its quota is there."""
