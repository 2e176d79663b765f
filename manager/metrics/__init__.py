"""The metrics: their families, their catalogue and those of the process itself."""
