"""`turnstile simulate`: cycle after cycle until nothing changes."""
