"""Kubeconfigs: fetched from allowed places, held to the policy, turned into frozen access values."""
