"""Settings and API value types: the bottom layer, which imports nothing else of ours."""
