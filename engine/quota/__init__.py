"""Quota: the tree of cohorts with nominal quota and usage, and the shares of fair sharing."""
