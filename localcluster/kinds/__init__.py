"""What a kind of the local API server is: schema, validation, defaults, columns."""
