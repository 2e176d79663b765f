"""Screens of commands in the docs: played on local clusters, written into the page, and compared by a test."""
