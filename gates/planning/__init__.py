"""Plans for jobs that nobody submitted yet: what is asked for, and which worker would get it."""
