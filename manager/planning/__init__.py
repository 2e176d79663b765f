"""`turnstile plan`: what would become of a job before it is submitted. Reads only."""
