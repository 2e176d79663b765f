"""Settings and API value types: the bottom layer, which imports no other package of this project."""
