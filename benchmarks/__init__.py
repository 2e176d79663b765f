"""Measurements that can be repeated."""
