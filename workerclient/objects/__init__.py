"""Typed access to the objects of a cluster, and caches that are kept up to date by watches."""
