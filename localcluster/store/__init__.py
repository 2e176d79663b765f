"""The objects of a local cluster, with the semantics of the API server."""
