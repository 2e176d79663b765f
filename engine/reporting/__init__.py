"""What is said about a decision: Kueue's own words and conditions, explanations, caveats."""
