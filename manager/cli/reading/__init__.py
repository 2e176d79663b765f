"""Manifests that users give to commands: bounded, and as kubectl reads them."""
