"""Which workers a Workload may go to, by its annotations, the workers' labels and the operator's word."""
