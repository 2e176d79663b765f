"""Workers come and go: what `turnstile worker` does on the worker and on the hub."""
