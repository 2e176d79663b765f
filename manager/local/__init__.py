"""`turnstile local`: clusters in one process to try things on, alone or as a fleet with the daemon beside them."""
