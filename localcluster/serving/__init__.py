"""The HTTP server of a local cluster."""
