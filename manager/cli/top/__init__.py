"""`turnstile top`: a live view of a fleet. `cells`, `panels` and `head` are pure, the screens draw, `source` asks."""
