"""What must hold in every history, judged by the API servers' histories and true time alone."""
