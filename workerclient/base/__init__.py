"""What every other folder of the client may use: errors, kinds, clock, limits of what is held."""
