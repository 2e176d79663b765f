"""The types of single fields."""
