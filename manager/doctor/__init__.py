"""`turnstile doctor`: looks at the hub and at every worker, and says what is not as it should be. Reads only."""
