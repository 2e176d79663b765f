"""What every other folder of the daemon may use: clock, errors, API kinds, limits."""
