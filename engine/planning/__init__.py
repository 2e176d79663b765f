"""What a worker would do with a job that nobody submitted yet, by how much it does not fit, how large it could be."""
