"""What the daemon answers: metrics, health and the API, over HTTP and a local socket."""
