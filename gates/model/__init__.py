"""The values that decisions are made from and result in."""
