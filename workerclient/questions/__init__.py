"""Single questions to a cluster: version, permissions, tokens, API discovery."""
