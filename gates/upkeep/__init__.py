"""Decisions beside those about a Workload: leftovers on workers, leadership."""
