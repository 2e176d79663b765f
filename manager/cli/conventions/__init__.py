"""What every command of `turnstile` has in common: options, connections, output, errors and exit codes."""
