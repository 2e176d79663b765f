"""Planted bugs: the simulation is a test, and this is the test of that test."""
