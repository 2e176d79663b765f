"""Fuzzing of every parser that reads what others write, guided by coverage, with a corpus in the repository."""
