"""Kinds that Kubernetes itself serves, as far as clients of this product meet them (v1.36, PodGroup also v1.37)."""
