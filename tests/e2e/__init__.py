"""Whole stories, on local clusters and on real Kueue."""
