"""The page: its files, and a server on loopback that shows it for one user."""
