"""`turnstile plan`: what becomes of a job that nobody submitted yet. Reads only."""
