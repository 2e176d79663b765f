"""What a worker would do with a job that was not submitted yet, what it lacks, and how large it could be."""
