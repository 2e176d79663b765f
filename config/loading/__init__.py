"""A configuration from a file and the environment, with every problem in it; its reference."""
