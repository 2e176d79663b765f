"""Kubernetes-style API servers on loopback, for the demo and the tests; production never loads this."""
