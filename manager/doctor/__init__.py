"""`turnstile doctor`: examines the hub and every worker and reports problems. Reads only."""
