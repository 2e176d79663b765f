"""What preempting a job would cost, and what is to be written about it: pure functions, no client and no clock."""
