"""The books: quota and usage over the forest of cohorts, and shares of what is borrowed."""
