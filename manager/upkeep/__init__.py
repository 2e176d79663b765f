"""Work beside reconciling: conditions, leftovers on workers, other controllers, expiring credentials."""
