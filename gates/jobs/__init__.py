"""How a hub job becomes a remote job and how its status comes back: pure, and driven by one table of kinds."""
