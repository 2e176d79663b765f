"""What `turnstile doctor` concludes from what it found out; each finding with its remedy."""
