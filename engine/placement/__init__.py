"""Which flavors suit a pod: taints, tolerations and node affinity."""
