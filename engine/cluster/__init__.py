"""One cluster's queues and Workloads: the model that a cycle runs on."""
