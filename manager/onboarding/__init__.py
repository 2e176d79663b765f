"""Adding and removing workers: what `turnstile worker` does on the worker and on the hub."""
