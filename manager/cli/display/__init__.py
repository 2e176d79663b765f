"""What reaches the terminal: the standard streams, and the width of a line."""
