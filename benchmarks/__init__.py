"""Benchmarks: numbers of real runs on the machine at hand, printed as tables. None of them is a test."""
