"""The record of decisions on disk: writing, thinning, reading, replaying."""
