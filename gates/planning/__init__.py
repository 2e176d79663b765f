"""Plans for jobs that are not submitted yet: what they request, and which worker would get them."""
