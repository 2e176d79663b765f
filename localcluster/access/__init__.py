"""Who asks an API server, and what it may do: tokens, service accounts, roles, reviews."""
