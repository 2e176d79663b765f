"""What differs between versions of Kueue: feature gates and rules, as data."""
